/** The number of tools of one server that need approval before every call, whatever the arguments. */
export interface ApprovalCount {
  /** The server, or the pool that has the tools. */
  readonly group: string;
  /** The servers that have the tools. */
  readonly servers: readonly string[];
  /** The number of tools that the caller may see. */
  readonly tools: number;
  readonly needApproval: number;
  /** Rules for `permissions.allow` that remove the need for approval; empty if no such rule does. */
  readonly allow: readonly string[];
  /** Rules that allow the ones that are neither destructive nor of high risk. An untrusted server says itself which are. */
  readonly allowMild: readonly string[];
  /** The number of tools that need approval in spite of `allow`. */
  readonly left: number;
  /** The rules that require these approvals. */
  readonly leftBy: readonly string[];
}
