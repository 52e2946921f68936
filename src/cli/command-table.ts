import type { Command } from './command.ts';

/** A command: its line in the help, and the function that loads it. Each is loaded on use, so that start-up stays short. */
export interface CommandEntry {
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

/** The commands by the groups of the help. */
export const COMMAND_GROUPS: Readonly<Record<string, Readonly<Record<string, CommandEntry>>>> = {
  Start: {
    up: { summary: 'Start the gateway', load: async () => (await import('./commands/up.ts')).up },
    connect: {
      summary: 'Give other hosts this gateway',
      load: async () => (await import('./commands/connect.ts')).connect,
    },
    import: {
      summary: 'Show or take over other hosts’ servers',
      load: async () => (await import('./commands/import.ts')).importServers,
    },
    add: { summary: 'Add a server', load: async () => (await import('./commands/add.ts')).add },
    doctor: {
      summary: 'Find out what does not work, and why',
      load: async () => (await import('./commands/doctor.ts')).doctor,
    },
  },
  Use: {
    list: { summary: 'List servers, or what they have', load: async () => (await import('./commands/list.ts')).list },
    search: { summary: 'Find tools by words', load: async () => (await import('./commands/search.ts')).search },
    describe: { summary: 'Show a tool in full', load: async () => (await import('./commands/describe.ts')).describe },
    call: { summary: 'Call a tool', load: async () => (await import('./commands/call.ts')).call },
    read: { summary: 'Read a resource', load: async () => (await import('./commands/read.ts')).read },
    prompt: { summary: 'Get a prompt', load: async () => (await import('./commands/prompt.ts')).prompt },
  },
  Workflows: {
    run: { summary: 'Run a workflow', load: async () => (await import('./commands/run.ts')).runWorkflowCommand },
    runs: { summary: 'Show and manage runs of workflows', load: async () => (await import('./commands/runs.ts')).runs },
    lint: { summary: 'Check workflows', load: async () => (await import('./commands/lint.ts')).lint },
  },
  Govern: {
    permissions: {
      summary: 'Show or change what needs approval',
      load: async () => (await import('./commands/permissions.ts')).managePermissions,
    },
    approvals: {
      summary: 'Show and decide approvals of calls',
      load: async () => (await import('./commands/approvals.ts')).manageApprovals,
    },
    policy: {
      summary: 'Check or simulate the rules on calls',
      load: async () => (await import('./commands/policy.ts')).policy,
    },
    key: { summary: 'Make, list or revoke keys', load: async () => (await import('./commands/key.ts')).key },
    trust: {
      summary: 'Trust the servers of a project',
      load: async () => (await import('./commands/trust.ts')).trust,
    },
  },
  Observe: {
    audit: {
      summary: 'Search, export or verify the audit log',
      load: async () => (await import('./commands/audit.ts')).manageAudit,
    },
    stats: { summary: 'Show how calls have ended', load: async () => (await import('./commands/stats.ts')).stats },
    config: {
      summary: 'Show what is configured, and where',
      load: async () => (await import('./commands/config.ts')).config,
    },
  },
  'Servers and secrets': {
    get: { summary: 'Show one server', load: async () => (await import('./commands/get.ts')).get },
    enable: { summary: 'Let a server start again', load: async () => (await import('./commands/enable.ts')).enable },
    disable: {
      summary: 'Keep a server from starting',
      load: async () => (await import('./commands/enable.ts')).disable,
    },
    remove: { summary: 'Remove a server', load: async () => (await import('./commands/remove.ts')).remove },
    export: {
      summary: 'Write servers into another host’s file',
      load: async () => (await import('./commands/export.ts')).exportServers,
    },
    auth: {
      summary: 'Sign in to a server, or sign out',
      load: async () => (await import('./commands/auth.ts')).manageSignIns,
    },
    secret: { summary: 'Set, list or remove secrets', load: async () => (await import('./commands/secret.ts')).secret },
  },
  Other: {
    serve: {
      summary: 'Serve one MCP client over stdio',
      load: async () => (await import('./commands/serve.ts')).serve,
    },
    builtin: {
      summary: 'Serve a built-in server alone',
      load: async () => (await import('./commands/builtin.ts')).builtin,
    },
    completion: {
      summary: 'Print a completion script for a shell',
      load: async () => (await import('./commands/completion.ts')).completion,
    },
    version: { summary: 'Show the version', load: async () => (await import('./commands/version.ts')).version },
  },
};

/** All commands by name. */
export const COMMANDS: Readonly<Record<string, CommandEntry>> = Object.assign({}, ...Object.values(COMMAND_GROUPS));

/** The command without a name. */
export const STATUS: CommandEntry = {
  summary: 'Show how things are',
  load: async () => (await import('./commands/status.ts')).status,
};
