import { ConfigError } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { managementLimits, resolveManagementConfig } from './config.ts';

test('without options the defaults apply', () => {
  const config = resolveManagementConfig({});
  for (const [name, rule] of Object.entries(managementLimits))
    expect(config[name as keyof typeof config]).toBe(rule.default);
  expect(Object.isFrozen(config)).toBe(true);
});

test('all values out of range are reported at once', () => {
  const options = Object.fromEntries(Object.entries(managementLimits).map(([name, { min }]) => [name, min - 1]));
  expect(() => resolveManagementConfig(options)).toThrow(ConfigError);
  try {
    resolveManagementConfig({ ...options, watchersMax: 1.5 });
  } catch (error) {
    const fields = (error as ConfigError).problems.map(({ field }) => field);
    expect(fields).toEqual(Object.keys(managementLimits));
  }
});
