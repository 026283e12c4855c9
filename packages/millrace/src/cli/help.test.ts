import { expect, test } from 'vitest';
import { commands } from './command-table.ts';
import { commandHelp, generalHelp } from './help.ts';

test('the general help reads as it should', async () => {
  await expect(generalHelp()).toMatchFileSnapshot('./help-texts/millrace.txt');
});

test.each(commands.map((command) => [command.name, command] as const))(
  'the help of %s reads as it should',
  async (name, command) => {
    await expect(commandHelp(command)).toMatchFileSnapshot(`./help-texts/${name}.txt`);
  },
);

test('no line of help is wider than 110 characters', () => {
  const lines = [generalHelp(), ...commands.map(commandHelp)].flatMap((text) => text.split('\n'));
  expect(lines.filter((line) => line.length > 110)).toEqual([]);
});
