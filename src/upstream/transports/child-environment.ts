/**
 * What a local server may see of ours without being told: where programs and
 * folders are, how to speak to people, and how this machine reaches the network.
 * Nothing that makes a program load code, and no credentials but a proxy's own.
 */
const PASSED_ON = [
  ...['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TMPDIR', 'USER'],
  ...['LANG', 'LANGUAGE', 'LC_ALL', 'LC_CTYPE', 'TERM', 'TZ'],
  ...['CURL_CA_BUNDLE', 'NODE_EXTRA_CA_CERTS', 'REQUESTS_CA_BUNDLE', 'SSL_CERT_DIR', 'SSL_CERT_FILE'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'],
];

/** The environment of a local server: a safe part of ours, then its own entries. */
export function childEnvironment(
  ours: Readonly<Record<string, string | undefined>>,
  own: Readonly<Record<string, string>>,
): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const name of PASSED_ON) {
    const value = ours[name];
    // A shell function smuggled in as a variable would run in the child's shell.
    if (value !== undefined && !value.startsWith('()')) environment[name] = value;
  }
  return { ...environment, ...own };
}
