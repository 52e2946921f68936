import type { JsonObject } from '../../../src/core/call.ts';

/** A snippet as a README has it, the servers that it becomes, and a part of each note. */
type Snippet = readonly [
  style: string,
  text: string,
  servers: Readonly<Record<string, JsonObject>>,
  notes: readonly string[],
];

const NPX = { command: 'npx', args: ['-y', 'demo-mcp'] };

/** Snippets in the styles of the READMEs of popular servers, at least one for each host. */
export const SNIPPETS: readonly Snippet[] = [
  [
    'Claude Desktop: mcpServers with env',
    `{
      "mcpServers": {
        "github": {
          "command": "npx",
          "args": ["-y", "@modelcontextprotocol/server-github"],
          "env": { "GITHUB_PERSONAL_ACCESS_TOKEN": "<YOUR_TOKEN>" }
        }
      }
    }`,
    {
      github: {
        command: 'npx',
        args: ['-y', '@modelcontextprotocol/server-github'],
        env: { GITHUB_PERSONAL_ACCESS_TOKEN: '<YOUR_TOKEN>' },
      },
    },
    [],
  ],
  [
    'VS Code: servers and inputs',
    `{
      "inputs": [
        { "type": "promptString", "id": "github_token", "description": "GitHub Personal Access Token", "password": true }
      ],
      "servers": {
        "github": {
          "command": "docker",
          "args": ["run", "-i", "--rm", "-e", "GITHUB_PERSONAL_ACCESS_TOKEN", "ghcr.io/github/github-mcp-server"],
          "env": { "GITHUB_PERSONAL_ACCESS_TOKEN": "\${input:github_token}" }
        }
      }
    }`,
    {
      github: {
        command: 'docker',
        args: ['run', '-i', '--rm', '-e', 'GITHUB_PERSONAL_ACCESS_TOKEN', 'ghcr.io/github/github-mcp-server'],
        env: { GITHUB_PERSONAL_ACCESS_TOKEN: '${GITHUB_TOKEN}' },
      },
    },
    ['`env.GITHUB_PERSONAL_ACCESS_TOKEN`: its host asks for `github_token` (GitHub Personal Access Token)'],
  ],
  [
    'VS Code settings: mcp.servers, an input with a default',
    `{ "mcp": { "inputs": [{ "type": "promptString", "id": "db-url", "default": "postgres://localhost/app" }],
        "servers": { "postgres": { "type": "stdio", "command": "npx", "args": ["-y", "server-postgres", "\${input:db-url}"] } } } }`,
    { postgres: { command: 'npx', args: ['-y', 'server-postgres', '${DB_URL:-postgres://localhost/app}'] } },
    ['or takes `postgres://localhost/app`'],
  ],
  [
    'VS Code: a remote server with a header from an input',
    `{ "servers": { "github": { "type": "http", "url": "https://api.example.com/mcp/",
        "headers": { "Authorization": "Bearer \${input:pat}" } } } }`,
    {
      github: { type: 'http', url: 'https://api.example.com/mcp/', headers: { Authorization: 'Bearer ${PAT}' } },
    },
    ['Heddle reads it from the variable `PAT`. Set it.'],
  ],
  [
    'VS Code: --add-mcp, one object with its name',
    '{"name":"playwright","command":"npx","args":["@playwright/mcp@latest"]}',
    { playwright: { command: 'npx', args: ['@playwright/mcp@latest'] } },
    [],
  ],
  [
    'VS Code: dev and gallery',
    '{ "servers": { "demo": { "type": "stdio", "command": "npx", "args": ["-y", "demo-mcp"], "gallery": true, "dev": { "watch": "src/**" } } } }',
    { demo: NPX },
    ['`dev` is left out: it is for developing the server inside VS Code.'],
  ],
  [
    'Zed: context_servers',
    '{ "context_servers": { "context7": { "source": "custom", "command": "npx", "args": ["-y", "@upstash/context7-mcp"] } } }',
    { context7: { command: 'npx', args: ['-y', '@upstash/context7-mcp'] } },
    [],
  ],
  [
    'Zed, older: a command object',
    `{ "context_servers": { "Context7": { "command": { "path": "npx", "args": ["-y", "demo-mcp"] }, "settings": {} } } }`,
    { Context7: NPX },
    ['`command.path` becomes `command`'],
  ],
  [
    'opencode: local, with an array and {env:}',
    `{ "$schema": "https://opencode.ai/config.json", "mcp": { "demo": { "type": "local", "command": ["npx", "-y", "demo-mcp"],
        "enabled": true, "environment": { "KEY": "{env:DEMO_KEY}" } } } }`,
    { demo: { ...NPX, env: { KEY: '${DEMO_KEY}' } } },
    ['`command` becomes `command` and `args`, `environment` becomes `env`, `type: "local"` becomes `type: "stdio"`.'],
  ],
  [
    'opencode: remote, with its timeout',
    '{ "mcp": { "docs": { "type": "remote", "url": "https://mcp.example.com/mcp", "enabled": false, "timeout": 8000 } } }',
    { docs: { type: 'http', url: 'https://mcp.example.com/mcp', enabled: false, connectTimeoutMs: 8000 } },
    ['`timeout: 8000` becomes `connectTimeoutMs: 8000`'],
  ],
  [
    'Windsurf: serverUrl',
    '{ "mcpServers": { "figma": { "serverUrl": "https://mcp.example.com/sse" } } }',
    { figma: { url: 'https://mcp.example.com/sse' } },
    ['`figma`: `serverUrl` becomes `url`.'],
  ],
  [
    'Cline: disabled, autoApprove and a timeout in seconds',
    `{ "mcpServers": { "demo": { "command": "npx", "args": ["-y", "demo-mcp"], "disabled": true,
        "autoApprove": ["read_file"], "timeout": 60 } } }`,
    { demo: { ...NPX, enabled: false, timeoutMs: 60_000 } },
    ['`timeout: 60` becomes `timeoutMs: 60000`, `disabled` becomes `enabled: false`.'],
  ],
  [
    'Cline: a repository as the name',
    '{ "mcpServers": { "github.com/upstash/context7-mcp": { "command": "npx", "args": ["-y", "demo-mcp"] } } }',
    { 'context7-mcp': NPX },
    ['`github.com/upstash/context7-mcp` is renamed to `context7-mcp`'],
  ],
  [
    'Roo Code: streamable-http and alwaysAllow',
    `{ "mcpServers": { "docs": { "type": "streamable-http", "url": "https://mcp.example.com/mcp",
        "headers": { "X-Version": 2 }, "alwaysAllow": ["search"], "disabled": false } } }`,
    { docs: { type: 'http', url: 'https://mcp.example.com/mcp', headers: { 'X-Version': '2' } } },
    ['`type: "streamable-http"` becomes `type: "http"`'],
  ],
  [
    'AWS: a name with dots, env and flags of Kiro',
    `{ "mcpServers": { "awslabs.aws-documentation-mcp-server": { "command": "uvx",
        "args": ["awslabs.aws-documentation-mcp-server@latest"],
        "env": { "FASTMCP_LOG_LEVEL": "ERROR", "AWS_PROFILE": "default" }, "disabled": false, "autoApprove": [] } } }`,
    {
      'awslabs-aws-documentation-mcp-server': {
        command: 'uvx',
        args: ['awslabs.aws-documentation-mcp-server@latest'],
        env: { FASTMCP_LOG_LEVEL: 'ERROR', AWS_PROFILE: 'default' },
      },
    },
    ['is renamed to `awslabs-aws-documentation-mcp-server`'],
  ],
  [
    'Gemini CLI: httpUrl, $VAR and milliseconds',
    `{ "mcpServers": { "github": { "httpUrl": "https://api.example.com/mcp/",
        "headers": { "Authorization": "Bearer $GITHUB_MCP_PAT" }, "timeout": 5000, "trust": true, "excludeTools": ["drop"] } } }`,
    {
      github: {
        type: 'http',
        url: 'https://api.example.com/mcp/',
        headers: { Authorization: 'Bearer ${GITHUB_MCP_PAT}' },
        timeoutMs: 5000,
        permissions: { deniedTools: ['drop'] },
      },
    },
    ['`timeout: 5000` becomes `timeoutMs: 5000`', '`trust` is left out'],
  ],
  [
    'Copilot CLI: tools ["*"] and type local',
    '{ "mcpServers": { "demo": { "type": "local", "command": "npx", "args": ["-y", "demo-mcp"], "tools": ["*"] } } }',
    { demo: NPX },
    ['`type: "local"` becomes `type: "stdio"`.', '`tools` is left out: Heddle has every tool'],
  ],
  [
    'Copilot coding agent: a list of tools',
    '{ "mcpServers": { "demo": { "type": "local", "command": "npx", "args": ["-y", "demo-mcp"], "tools": ["get_issue"] } } }',
    { demo: NPX },
    ['`type: "local"`', '`tools` is left out: Heddle lists every tool.'],
  ],
  [
    'Cursor: a fragment without braces, with a trailing comma',
    '"demo": {\n  "command": "npx",\n  "args": ["-y", "demo-mcp"],\n},\n',
    { demo: NPX },
    [],
  ],
  [
    'Cursor: envFile',
    '{ "mcpServers": { "demo": { "command": "npx", "args": ["-y", "demo-mcp"], "envFile": "${workspaceFolder}/.env" } } }',
    { demo: NPX },
    ['`envFile` is left out: Heddle reads no variables from files.'],
  ],
  [
    'a Markdown code block with comments',
    'Add this to your settings:\n\n```jsonc\n{\n  // the server\n  "mcpServers": {\n    "demo": { "command": "npx", "args": ["-y", "demo-mcp"], },\n  },\n}\n```\n\nThen restart.\n',
    { demo: NPX },
    [],
  ],
  ['inline code', '`{"demo": {"command": "npx", "args": ["-y", "demo-mcp"]}}`', { demo: NPX }, []],
  [
    'mcporter: baseUrl',
    '{ "mcpServers": { "linear": { "baseUrl": "https://mcp.example.com/mcp" } } }',
    { linear: { url: 'https://mcp.example.com/mcp' } },
    ['`baseUrl` becomes `url`'],
  ],
  [
    'FastMCP: transport as a text',
    '{ "mcpServers": { "docs": { "url": "https://mcp.example.com/mcp", "transport": "streamable-http" } } }',
    { docs: { type: 'http', url: 'https://mcp.example.com/mcp' } },
    ['`transport` becomes `type`, `type: "streamable-http"` becomes `type: "http"`.'],
  ],
  [
    'Continue: a list, transport as an object',
    `{ "mcpServers": [{ "name": "demo", "transport": { "type": "stdio", "command": "npx", "args": ["-y", "demo-mcp"] } }] }`,
    { demo: NPX },
    [],
  ],
  [
    'Amp: a dotted setting',
    '{ "amp.mcpServers": { "demo": { "command": "npx", "args": ["-y", "demo-mcp"] } }, "amp.theme": "dark" }',
    { demo: NPX },
    [],
  ],
  [
    'Cherry Studio: isActive',
    '{ "mcpServers": { "demo": { "isActive": false, "type": "stdio", "command": "npx", "args": ["-y", "demo-mcp"], "name": "Demo" } } }',
    { demo: { ...NPX, enabled: false } },
    ['`isActive` becomes `enabled: false`'],
  ],
  [
    'several servers in settings of other things',
    `{ "theme": "dark", "mcpServers": { "a": { "command": "a" }, "b": { "url": "https://b.example/mcp", "env": {} } } }`,
    { a: { command: 'a' }, b: { url: 'https://b.example/mcp' } },
    [],
  ],
  [
    'Heddle’s own entry',
    '{ "mcpServers": { "demo": { "command": "npx", "args": ["-y", "demo-mcp"], "timeoutMs": 5, "tools": { "x": { "hidden": true } } } } }',
    { demo: { ...NPX, timeoutMs: 5, tools: { x: { hidden: true } } } },
    [],
  ],
  [
    'a fixed variable that is only text',
    '{ "demo": { "command": "npx", "args": ["-y", "demo-mcp"], "env": { "KEY": "$DEMO_KEY" } } }',
    { demo: { ...NPX, env: { KEY: '$DEMO_KEY' } } },
    ['`env.KEY` is the plain text `$DEMO_KEY`. Write `${DEMO_KEY}` if it means the variable.'],
  ],
];
