/** The file of checks that must fail, because a legacy server cannot pass them. */
export const EXPECTED = 'test/conformance/expected-failures.json';

export const passedIn = (checks) => checks.filter(({ status }) => status === 'SUCCESS').length;
/** Returns the failed checks; warnings, about recommendations of the protocol, count as failed. */
export const wrongIn = (checks) => checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
export const describeCheck = ({ id, status, description, errorMessage }) =>
  `${status} ${id}: ${errorMessage ?? description}`;

/**
 * Returns the summary and the failures of a run as server. Exactly the expected checks must fail: one that passes must be
 * removed from the list, so that a later failure is noticed.
 *
 * @param {string} name of the run
 */
export function judge(name, { scenarios, least, played, expected, output }) {
  const all = [...played].map(([scenario, { checks }]) => [scenario.replace(/^server-/, ''), checks]);
  const passed = all.reduce((sum, [, checks]) => sum + passedIn(checks), 0);
  const foreseen = (scenario) => expected.filter((one) => one.scenario === scenario).flatMap(({ checks }) => checks);
  const failed = all.flatMap(([scenario, checks]) => {
    const known = foreseen(scenario);
    const found = wrongIn(checks);
    const stale = known.filter((check) => !found.some(({ id }) => check === id));
    const wrong = [
      ...found.filter(({ id }) => !known.includes(id)).map(describeCheck),
      ...stale.map((check) => `It passes now: remove it from ${EXPECTED} (${check}).`),
    ];
    return wrong.length > 0 ? [{ name: scenario, wrong }] : [];
  });
  const isShort = all.length < scenarios || passed < least;
  const short = `Only ${all.length} scenarios ran and ${passed} checks passed; the minimum is ${scenarios} and ${least}.`;
  if (isShort) failed.push({ name: 'the run', wrong: [short, ...(all.length === 0 ? [output] : [])] });
  const count = expected.flatMap(({ checks }) => checks).length;
  const known = count > 0 ? `, ${count} failures expected` : '';
  return [`server, ${name}: ${all.length} scenarios, ${passed} checks passed${known}`, failed];
}
