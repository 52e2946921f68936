/** What a server of the older era cannot say, check by check. */
export const EXPECTED = 'test/conformance/expected-failures.json';

export const passedIn = (checks) => checks.filter(({ status }) => status === 'SUCCESS').length;
/** What the protocol only recommends counts as well. */
export const wrongIn = (checks) => checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
export const inWords = ({ id, status, description, errorMessage }) => `${status} ${id}: ${errorMessage ?? description}`;

/**
 * One line for a run as server, and what is wrong with it. Only the checks that are expected to fail may, and they have
 * to: what passes is taken off the list, so that it is noticed when it fails again.
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
      ...found.filter(({ id }) => !known.includes(id)).map(inWords),
      ...stale.map((check) => `It passes now: take it out of ${EXPECTED} (${check}).`),
    ];
    return wrong.length > 0 ? [{ name: scenario, wrong }] : [];
  });
  const isShort = all.length < scenarios || passed < least;
  const short = `Only ${all.length} scenarios ran and ${passed} checks passed: ${scenarios} and ${least} have to.`;
  if (isShort) failed.push({ name: 'the run', wrong: [short, ...(all.length === 0 ? [output] : [])] });
  const count = expected.flatMap(({ checks }) => checks).length;
  const known = count > 0 ? `, ${count} failures expected` : '';
  return [`server, ${name}: ${all.length} scenarios, ${passed} checks passed${known}`, failed];
}
