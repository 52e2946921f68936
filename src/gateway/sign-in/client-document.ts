import type { JsonObject } from '../../core/call.ts';

export const CLIENT_DOCUMENT_PATH = '/oauth/client.json';
export const CALLBACK_PATH = '/oauth/callback';

/** Returns the client metadata document: its own URL is the client id. */
export const clientDocument = (base: string): JsonObject => ({
  client_id: `${base}${CLIENT_DOCUMENT_PATH}`,
  client_name: 'Heddle',
  client_uri: base,
  redirect_uris: [`${base}${CALLBACK_PATH}`],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
});
