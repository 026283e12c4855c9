/** What the commands below `millrace streams` call, and print. */
import { streamsText, streamText } from '../models/management-text.ts';
import type { MakePlan } from '../models/plan.ts';

export const streamPlans: Readonly<Record<string, MakePlan>> = {
  'streams list': (args, flags) => {
    const [model, limit, after] = [flags.takeText('model'), flags.takeText('limit'), flags.takeText('after')];
    if (limit !== undefined && !/^[1-9]\d{0,3}$/.test(limit)) {
      args.problems.push({ source: '--limit', message: `must be a whole number from 1 to 1000, not "${limit}"` });
    }
    const query = {
      ...(model === undefined ? {} : { model }),
      ...(flags.isOn('open') ? { open: 'true' } : {}),
      ...(limit === undefined ? {} : { limit }),
      ...(after === undefined ? {} : { after }),
    };
    return {
      calls: { streams: { method: 'GET', path: ['streams'], query } },
      text: ({ streams = {} }, paint) => streamsText(streams, paint),
    };
  },
  'streams show': (args) => ({
    calls: { stream: { method: 'GET', path: ['streams', args.next('ID')] } },
    text: ({ stream = {} }) => streamText(stream),
  }),
  'streams cancel': (args, flags) => {
    const body = { reason: flags.takeText('reason') ?? '' };
    return {
      calls: { stream: { method: 'POST', path: ['streams', args.next('ID'), 'cancel'], body } },
      text: ({ stream = {} }) => streamText(stream),
    };
  },
};
