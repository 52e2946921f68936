/** The request that a credential is for. DPoP signs both. */
export interface AuthorizedRequest {
  readonly method: string;
  readonly url: URL;
  /** Ends the wait for a token. The request for the token goes on, because other requests may need it. */
  readonly signal?: AbortSignal;
}

/** A challenge of `WWW-Authenticate`. The scheme and the names of parameters are in lower case. */
export interface Challenge {
  readonly scheme: string;
  readonly params: Readonly<Record<string, string>>;
}

/** A response with status 401 or 403. The server did not carry out the request. */
export interface Refusal {
  readonly status: 401 | 403;
  readonly challenges: readonly Challenge[];
  /** The response headers, lower case: `dpop-nonce` and others. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The headers that the credential gave the request. */
  readonly sent: Readonly<Record<string, string>>;
  /** True for a request such as `tools/call` that is refused alone: the server may accept others with the same credential. */
  readonly isOfCall?: boolean;
  /** True for a JSON-RPC message, false for a stream without one. */
  readonly isMessage?: boolean;
  /** The URL of the request. */
  readonly url: URL;
  /** True if the request had been sent twice. It is not sent again, whatever the credential returns. */
  readonly isRetry: boolean;
}

/** Authorizes the requests to one server for one principal. Used by the HTTP, SSE and WebSocket transports. */
export interface Credential {
  /** Reads what the first request of a new connection needs. */
  prepare?(signal: AbortSignal): Promise<void>;
  /** Returns the headers of one request; a promise only if something must be fetched. */
  headersFor(request: AuthorizedRequest): Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
  /**
   * Takes a refusal. Returns true if the request should be sent once more, with new headers. Throws AUTH_NEEDED or
   * another HeddleError to explain the failure; the transport throws its own AUTH_NEEDED for false.
   */
  onRefused(refusal: Refusal, signal: AbortSignal): Promise<boolean>;
  /** Takes the headers of an accepted response, such as a new `dpop-nonce`. */
  onAccepted?(headers: Refusal['headers'], url: URL): void;
}
