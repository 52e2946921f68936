import { expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { addressKind } from './address-kind.ts';

verifies('A7', 'knows every address that leads inward, however it is written', () => {
  const kinds = {
    public: ['8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '64:ff9b::808:808'],
    loopback: ['127.0.0.1', '127.255.0.3', '::1', '0:0:0:0:0:0:0:1'],
    private: ['10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.1.1', '100.64.0.1', 'fc00::1', 'fdab::1'],
    refused: [
      '0.0.0.0',
      '169.254.169.254',
      '169.254.1.1',
      '100.100.100.200',
      '168.63.129.16',
      '192.0.0.192',
      '198.18.0.1',
      '203.0.113.9',
      '224.0.0.1',
      '255.255.255.255',
      '::',
      '::7f00:1',
      '::ffff:127.0.0.1',
      '::ffff:8.8.8.8',
      '::ffff:a9fe:a9fe',
      '64:ff9b::127.0.0.1',
      '64:ff9b::a9fe:a9fe',
      '64:ff9b::10.0.0.1',
      '64:ff9b:1::808:808',
      'fe80::1',
      'fe80::1%eth0',
      'fec0::1',
      'ff02::1',
      'fd00:ec2::254',
      '2001::1',
      '2001:db8::1',
      '2002:7f00:1::',
      '100::1',
    ],
  };
  for (const [kind, addresses] of Object.entries(kinds)) {
    for (const address of addresses) expect([address, addressKind(address)]).toEqual([address, kind]);
  }
});

it('refuses what is not an address', () => {
  for (const text of ['', 'localhost', '127.1', '[::1]', '1.2.3.4.5']) expect(addressKind(text)).toBe('refused');
});
