import type { ClientName } from '../servers/dated-clients.ts';
import type { DATED_SERVERS } from '../servers/dated-servers.ts';

export type ServerName = keyof typeof DATED_SERVERS;

/** The input requests that a server may send, with their first version and their name in the documentation. */
const QUESTIONS: Readonly<Record<string, { readonly since: string; readonly called: string; readonly needs: string }>> =
  {
    form: { since: '2025-06-18', called: 'forms', needs: 'elicitation by form' },
    url: { since: '2025-11-25', called: 'pages', needs: 'elicitation by URL' },
  };

const PLACES: Readonly<Record<ClientName | ServerName, string>> = {
  '2024-11-05': 'HTTP+SSE',
  '2025-06-18': 'Streamable HTTP',
  '2025-11-25': 'Streamable HTTP',
  '2026-07-28': 'Streamable HTTP',
  '2025-11-25 ws': 'WebSocket',
  '2026-07-28 ws': 'WebSocket',
};

export const WORKS = 'works';

/** Returns the outcome of a feature between two versions: it works, or the caller gets an error like this. */
export function expected(feature: string, client: ClientName, server: ServerName): string | RegExp {
  const { since = '', needs = '' } = QUESTIONS[feature] ?? {};
  if (server < since) return /Nothing is named .* Did you mean/; // Its version has no such request, so it lacks the tool.
  return client < since ? new RegExp(`does not support ${needs}\\. Use .* that does\\.`) : WORKS;
}

const nameOf = (name: ClientName | ServerName) => `${name.slice(0, 10)}, ${PLACES[name]}`;

function cellOf(client: ClientName, server: ServerName): string {
  const lost = Object.entries(QUESTIONS).filter(([, { since }]) => server >= since && client < since);
  return lost.length === 0 ? 'all' : `all but ${lost.map(([, { called }]) => called).join(' and ')}`;
}

/** The table of docs/compatibility.md. */
export function compatibilityTable(clients: readonly ClientName[], servers: readonly ServerName[]): string {
  const rows = clients.map((client) => [nameOf(client), ...servers.map((server) => cellOf(client, server))]);
  const lines = [['client ↓ server →', ...servers.map(nameOf)], ['---', ...servers.map(() => '---')], ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
