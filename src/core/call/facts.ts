/** Properties of a tool: from the configuration first, then from the server's annotations as far as it is trusted. */
export interface Facts {
  readonly category: string;
  /** True if only an untrusted server says so: no rule or profile uses such a category. */
  readonly isCategoryClaimed?: true;
  readonly riskLevel: 'low' | 'medium' | 'high';
  readonly readOnly: boolean;
  readonly destructive: boolean;
  readonly idempotent: boolean;
  /** May run at the same time as other calls of the same tool. */
  readonly concurrent: boolean;
  /** MCP's `openWorldHint`: interacts with external entities such as the web. */
  readonly openWorld: boolean;
  readonly requiresApproval: boolean;
  /** `always`: each call needs an approval of its own, whatever rules, mode and standing approvals say. Built-ins only. */
  readonly approval?: 'always';
  /** True only for the in-process servers that ship with Heddle; never derived from a name. */
  readonly builtin: boolean;
  readonly timeoutMs?: number;
  readonly rateLimit?: RateLimit;
  /** The delay after which a second server of the pool is called as well. */
  readonly hedgeAfterMs?: number;
  /** The cost of one call, for budgets. */
  readonly costPerCall?: number;
  /** The calls that a call of this tool makes are charged, and it is not: a workflow. */
  readonly paidBySteps?: true;
  /** The access that the tool declares: `network`, `fs:read`, `fs:write`. Shown to approvers. */
  readonly requires?: readonly string[];
  /** The labels that its results put on a session: `private`, `untrusted`. */
  readonly taints?: readonly Taint[];
  /** The stricter facts that an organisation's rules see, if settings of the user make the tool milder. */
  readonly forManagedRules?: Facts;
}

/** The facts of an entry about which nothing is known: it may write. */
export const UNDECLARED_FACTS: Facts = {
  category: 'uncategorized',
  riskLevel: 'medium',
  readOnly: false,
  destructive: false,
  idempotent: false,
  concurrent: false,
  openWorld: true,
  requiresApproval: false,
  builtin: false,
};

/** A label of a session that has received such results. */
export type Taint = 'private' | 'untrusted';

export interface RateLimit {
  readonly maxCalls: number;
  readonly windowMs: number;
}
