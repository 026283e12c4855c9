/** The commands below `millrace streams`. */
import type { CommandSpec } from '../command-table.ts';
import { answerSeconds, asking, commandBelow, outputFlags, serverGroup } from '../models/model-commands.ts';

export const streamCommands: readonly CommandSpec[] = [
  commandBelow('streams', 'list', {
    usage: '[flags]',
    summary: 'Show durable streams by id: their clients, age, inputs, outputs and ends.',
    details: ['Streams that an earlier process left in the journal are listed, too.'],
    examples: ['list', 'list --model listener --open', 'list --limit 1000 --json'],
    argumentsMax: 0,
    groups: [
      serverGroup(answerSeconds),
      {
        title: 'Which',
        flags: [
          { flag: 'model', placeholder: 'MODEL', description: 'Only streams of this model.' },
          { flag: 'open', description: 'Only streams that have not ended.' },
          { flag: 'limit', placeholder: 'N', description: 'Streams at most, up to 1000.', defaultText: '100' },
          { flag: 'after', placeholder: 'ID', description: 'Streams after this one: the next page.' },
        ],
      },
      outputFlags,
    ],
  }),
  commandBelow('streams', 'show', {
    usage: 'ID [flags]',
    summary: 'Show one durable stream, by its id or by the beginning of it if no other begins so.',
    examples: ['show 9b1f'],
    argumentsMax: 1,
    groups: asking,
  }),
  commandBelow('streams', 'cancel', {
    usage: 'ID [flags]',
    summary: 'Cancel a durable stream, whoever opened it; returns when its end is durable.',
    examples: ['cancel 9b1f', "cancel 9b1f --reason 'maintenance'"],
    argumentsMax: 1,
    groups: [
      serverGroup(answerSeconds),
      {
        title: 'Change',
        flags: [{ flag: 'reason', placeholder: 'TEXT', description: 'Why; the client sees it.' }],
      },
      outputFlags,
    ],
  }),
];
