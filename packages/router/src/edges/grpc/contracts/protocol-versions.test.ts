import { expect, test } from 'vitest';
import { announceVersion, listedVersionsMax, ProtocolVersions } from './protocol-versions.ts';

const versions = new ProtocolVersions('a.Contract', [
  { name: 'V1', deprecation: 'V1 is deprecated; send V2' },
  { name: 'V2' },
  { name: 'V3' },
]);
const metadata = (...values: readonly string[]) => ({
  getAll: (name: string) => (name === 'millrace-protocol-versions' ? values : []),
});

test('the highest version that both speak is chosen, in whatever order and case it is listed', () => {
  expect(versions.takeListed(metadata('V1, V2'))?.name).toBe('V2');
  expect(versions.takeListed(metadata('v2,v1'))?.name).toBe('V2');
  expect(versions.takeListed(metadata('V9', 'V1 ,V10'))?.name).toBe('V1');
  expect(versions.takeListed(metadata())).toBeUndefined();
  expect(versions.takeListed(metadata(' , '))).toBeUndefined();
});

test('where there is none, the refusal names what both speak', () => {
  expect(() => versions.takeListed(metadata('V7, V8'))).toThrow(
    /speaks version 'V7, V8' of a\.Contract, and this server V1, V2, V3/,
  );
  expect(() => versions.mustServe('7')).toThrow(/speaks version '7' .* list what you speak/);
  expect(versions.mustServe('V1').name).toBe('V1');
});

test('a list has a limit', () => {
  const list = Array.from({ length: listedVersionsMax + 1 }, (_, index) => `V${index}`).join();
  expect(() => versions.takeListed(metadata(list))).toThrow(/lists 17 versions, more than the 16 allowed/);
});

test('the choice is told, with a notice where the version is deprecated', () => {
  const told = (name: string) => {
    const fields: [string, string][] = [];
    announceVersion(versions.mustServe(name), { add: (key, value) => fields.push([key, String(value)]) });
    return fields;
  };
  expect(told('V2')).toEqual([['millrace-protocol-version', 'V2']]);
  expect(told('V1')).toEqual([
    ['millrace-protocol-version', 'V1'],
    ['millrace-deprecation', 'V1 is deprecated; send V2'],
  ]);
});
