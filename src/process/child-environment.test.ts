import { expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { childEnvironment } from './child-environment.ts';

const OURS = {
  HOME: '/home/someone',
  PATH: '/usr/bin',
  LANG: 'C.UTF-8',
  HTTPS_PROXY: 'http://proxy:3128',
  NODE_EXTRA_CA_CERTS: '/etc/ca.pem',
  TERM: '() { :; }; echo smuggled',
  USER: undefined,
  NODE_OPTIONS: '--require /tmp/x.js',
  NODE_PATH: '/tmp',
  LD_PRELOAD: '/tmp/x.so',
  LD_LIBRARY_PATH: '/tmp',
  DYLD_INSERT_LIBRARIES: '/tmp/x.dylib',
  PYTHONSTARTUP: '/tmp/x.py',
  BASH_ENV: '/tmp/x.sh',
  HEDDLE_TOKEN: 'secret',
  GITHUB_TOKEN: 'secret',
  AWS_SECRET_ACCESS_KEY: 'secret',
};

verifies('T4', 'passes on a small safe part of the environment and nothing that loads code or signs in', () => {
  expect(childEnvironment(OURS, {})).toEqual({
    HOME: '/home/someone',
    PATH: '/usr/bin',
    LANG: 'C.UTF-8',
    HTTPS_PROXY: 'http://proxy:3128',
    NODE_EXTRA_CA_CERTS: '/etc/ca.pem',
  });
});

it('lets an entry add and replace what it writes down', () => {
  const environment = childEnvironment({ PATH: '/usr/bin' }, { PATH: '/opt/bin', GITHUB_TOKEN: 'given' });
  expect(environment).toEqual({ PATH: '/opt/bin', GITHUB_TOKEN: 'given' });
});
