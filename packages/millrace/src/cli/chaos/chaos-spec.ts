/** `millrace chaos` in the table of commands. */
import { chaosKinds } from '../../chaos/fault.ts';
import { faultForms } from '../../chaos/fault-text.ts';
import type { CommandSpec } from '../command-table.ts';

export const chaosCommand: CommandSpec = {
  name: 'chaos',
  usage: 'TARGET [flags]',
  summary: 'Forward TCP connections to a server, and make them fail on purpose.',
  details: [
    'Clients connect to the proxy instead of the server. It prints a line for every connection and fault.',
    'Faults come at given times, at random by a seed, or as commands, a line each, on standard input or the',
    'control port.',
    `Faults: ${faultForms.slice(0, 4).join(', ')},`,
    `        ${faultForms.slice(4).join(', ')}. Further commands: status, quit.`,
    'A black-hole with a time holds everything and loses nothing; without one, open connections are lost for good.',
  ],
  examples: [
    'millrace chaos 127.0.0.1:8000 --listen 9000',
    `millrace chaos 127.0.0.1:8000 --at '5s=reset' --at '10s=delay 200ms jitter 50ms for 3s'`,
    'millrace chaos 127.0.0.1:8000 --random 2s --seed 7 --faults reset,delay',
  ],
  argumentsMax: 1,
  groups: [
    {
      title: 'Proxy',
      flags: [
        {
          flag: 'listen',
          placeholder: 'PORT|HOST:PORT',
          description: 'Where to listen, on loopback unless a host is given; 0: a free port.',
          defaultText: '127.0.0.1:0',
          synonyms: ['port', 'http-port'],
        },
        {
          flag: 'connections-max',
          placeholder: 'N',
          description: 'Connections at once; more are reset.',
          defaultText: '1024',
        },
        {
          flag: 'buffer',
          placeholder: 'BYTES',
          description: 'Bytes that wait in each direction of a connection; then its sender has to wait.',
          defaultText: '1MiB',
        },
        { flag: 'duration', placeholder: 'TIME', description: 'Stop after this time, like 30s.', defaultText: 'none' },
      ],
    },
    {
      title: 'Faults',
      flags: [
        {
          flag: 'at',
          placeholder: 'TIME=FAULT',
          description: `A fault at this time after the start, like '5s=reset'.`,
          isList: true,
        },
        {
          flag: 'random',
          placeholder: 'TIME',
          description: 'Faults at random, on average so long after each other.',
        },
        {
          flag: 'faults',
          placeholder: 'KIND,…',
          description: 'Kinds of faults that --random draws from.',
          defaultText: chaosKinds.join(','),
        },
        {
          flag: 'seed',
          placeholder: 'N',
          description: 'Seed of --random and of jitter; the same seed gives the same faults at the same times.',
          defaultText: '1',
        },
        {
          flag: 'control-port',
          placeholder: 'PORT',
          description: 'Take commands on this port of loopback, too; 0: a free one.',
        },
        {
          flag: 'stdin',
          description: 'Take commands on standard input; turn it off in the background.',
          isNegatable: true,
          defaultText: 'on',
        },
      ],
    },
    { title: 'Output', flags: [{ flag: 'json', description: 'Print JSON, for programs.' }] },
  ],
};
