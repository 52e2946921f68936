import { UpstreamError } from '../../core/errors.ts';

const lost = (server: string, what: string) =>
  new UpstreamError('UPSTREAM_FAILED', what, {
    delivered: 'no',
    fix: `Run \`heddle doctor ${server}\` to see why.`,
  });

/** Its line has ended, and nobody here ended it. */
export const dropped = (server: string) => lost(server, `The line to ${server} dropped.`);

/** Its line is open, but nobody answers there any more. */
export const hung = (server: string) => lost(server, `${server} stopped answering, so its line was closed.`);
