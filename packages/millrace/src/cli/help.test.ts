import { expect, test } from 'vitest';
import { commands, subcommandsOf } from './command-table.ts';
import { commandHelp, generalHelp } from './help.ts';

test('the general help equals its file', async () => {
  await expect(generalHelp()).toMatchFileSnapshot('./help-texts/millrace.txt');
});

const all = commands.flatMap((command) => [command, ...subcommandsOf(command).values()]);

test.each(all.map((command) => [command.name, command] as const))(
  'the help of %s reads as it should',
  async (name, command) => {
    await expect(commandHelp(command)).toMatchFileSnapshot(`./help-texts/${name.replace(' ', '-')}.txt`);
  },
);

test('no line of help is wider than 110 characters', () => {
  const lines = [generalHelp(), ...all.map(commandHelp)].flatMap((text) => text.split('\n'));
  expect(lines.filter((line) => line.length > 110)).toEqual([]);
});
