/**
 * The variables of our environment that every local server receives: paths, language, certificates and proxies.
 * None of them makes a program load code. None holds credentials, except those in a proxy URL.
 */
const PASSED_ON = [
  ...['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TMPDIR', 'USER'],
  ...['LANG', 'LANGUAGE', 'LC_ALL', 'LC_CTYPE', 'TERM', 'TZ'],
  ...['CURL_CA_BUNDLE', 'NODE_EXTRA_CA_CERTS', 'REQUESTS_CA_BUNDLE', 'SSL_CERT_DIR', 'SSL_CERT_FILE'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'],
];

/** Returns the environment of a local server: the variables above, then those of its entry. */
export function childEnvironment(
  ours: Readonly<Record<string, string | undefined>>,
  own: Readonly<Record<string, string>>,
): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const name of PASSED_ON) {
    const value = ours[name];
    // Bash would run a variable that begins with `()` as a function.
    if (value !== undefined && !value.startsWith('()')) environment[name] = value;
  }
  return { ...environment, ...own };
}
