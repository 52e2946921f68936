import { existsSync, readFileSync } from 'node:fs';

/**
 * Reads the test counts from vitest's JSON report. A run that failed without a failed test (a file that does not load,
 * an uncaught error, a missing report) counts as one failure, so that it cannot look like a success.
 *
 * @param {string} file
 * @param {number} exitCode
 * @returns {{ passed: number, failed: number, skipped: number }}
 */
export function readCounts(file, exitCode) {
  const report = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
  const failed = (report?.numFailedTests ?? 0) + (report?.testResults ?? []).filter(brokenFile).length;
  return {
    passed: report?.numPassedTests ?? 0,
    failed: failed === 0 && exitCode !== 0 ? 1 : failed,
    skipped: (report?.numPendingTests ?? 0) + (report?.numTodoTests ?? 0),
  };
}

function brokenFile({ status, assertionResults }) {
  return status === 'failed' && !assertionResults.some((test) => test.status === 'failed');
}
