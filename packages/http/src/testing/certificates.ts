/** Certificates for tests, made on the spot: no program to install, no key in the repository. */
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

export interface TestCertificate {
  /** PEM. */
  readonly cert: string;
  /** PEM. */
  readonly key: string;
}

export interface TestAuthority extends TestCertificate {
  readonly name: string;
  readonly privateKey: KeyObject;
}

/** Signs itself; good for localhost and 127.0.0.1, and for signing others. */
export function testAuthority(name: string): TestAuthority {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { name, privateKey, cert: certificateOf(name, publicKey, name, privateKey), key: pemOf(privateKey) };
}

/** Signed by the authority; good for localhost and 127.0.0.1, and for a client. */
export function testCertificate(name: string, authority: TestAuthority): TestCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { cert: certificateOf(name, publicKey, authority.name, authority.privateKey), key: pemOf(privateKey) };
}

const oids = {
  commonName: Buffer.from([0x55, 0x04, 0x03]),
  subjectAltName: Buffer.from([0x55, 0x1d, 0x11]),
  basicConstraints: Buffer.from([0x55, 0x1d, 0x13]),
  ecdsaWithSha256: Buffer.from([0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02]),
};

function certificateOf(subject: string, publicKey: KeyObject, issuer: string, signer: KeyObject): string {
  const algorithm = sequence(der(0x06, oids.ecdsaWithSha256));
  // dNSName and iPAddress of RFC 5280, 4.2.1.6.
  const names = sequence(der(0x82, Buffer.from('localhost')), der(0x87, Buffer.from([127, 0, 0, 1])));
  const extensions = sequence(
    sequence(der(0x06, oids.subjectAltName), der(0x04, names)),
    sequence(
      der(0x06, oids.basicConstraints),
      der(0x01, Buffer.from([0xff])),
      der(0x04, sequence(der(0x01, Buffer.from([0xff])))),
    ),
  );
  const toBeSigned = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    nameOf(issuer),
    sequence(der(0x17, Buffer.from('200101000000Z')), der(0x17, Buffer.from('491231235959Z'))),
    nameOf(subject),
    publicKey.export({ format: 'der', type: 'spki' }),
    der(0xa3, extensions),
  );
  const signature = sign('sha256', toBeSigned, signer);
  const bytes = sequence(toBeSigned, algorithm, der(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

function nameOf(commonName: string): Buffer {
  return sequence(der(0x31, sequence(der(0x06, oids.commonName), der(0x0c, Buffer.from(commonName)))));
}

function pemOf(key: KeyObject): string {
  return key.export({ format: 'pem', type: 'pkcs8' }).toString();
}

function sequence(...parts: readonly Uint8Array[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function der(tag: number, content: Uint8Array): Buffer {
  const { length } = content;
  let head = [tag, length];
  if (length > 0xff) head = [tag, 0x82, length >> 8, length & 0xff];
  else if (length > 0x7f) head = [tag, 0x81, length];
  return Buffer.concat([Buffer.from(head), content]);
}
