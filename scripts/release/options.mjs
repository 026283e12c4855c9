/** The command line of scripts/release.mjs. */
import { parseArgs } from 'node:util';

export const usage = `npm run release -- [VERSION | patch | minor | major] [OPTION…]

Checks, builds, packs and installs a release. Publishes nothing and leaves the tree as it was, unless told to.
VERSION may be left out for the first release: it is the version that the packages have.

  --checks none|test|ci  what to run on the build: nothing, npm test (the default), or .ci/run
  --out FOLDER           where the tarballs go; .cache/release/VERSION unless given
  --date YYYY-MM-DD      the date in the changelog; today (UTC) unless given
  --dry-run              publish nothing (the default)
  --publish              commit, tag and publish to the npm registry; not with --checks none`;

const checks = ['none', 'test', 'ci'];

/** @returns {{ options: { wanted: string | undefined, checks: string, out: string | undefined, date: string, isPublished: boolean } } | { problem: string }} */
export function optionsFrom(args, today) {
  let parsed;
  try {
    parsed = parseArgs({
      args,
      allowPositionals: true,
      options: {
        checks: { type: 'string', default: 'test' },
        out: { type: 'string' },
        date: { type: 'string', default: today },
        'dry-run': { type: 'boolean', default: false },
        publish: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    return { problem: error.message };
  }
  const { values, positionals } = parsed;
  if (positionals.length > 1) return { problem: `one version at a time, not ${positionals.join(' ')}` };
  if (!checks.includes(values.checks)) return { problem: `--checks is ${checks.join(', ')}, not '${values.checks}'` };
  if (!isDate(values.date)) return { problem: `--date is a day such as 2026-01-31, not '${values.date}'` };
  if (values.publish && values['dry-run']) return { problem: 'give --publish or --dry-run, not both' };
  if (values.publish && values.checks === 'none')
    return { problem: '--publish needs --checks test or ci: nothing is published unchecked' };
  const options = {
    wanted: positionals[0],
    checks: values.checks,
    out: values.out,
    date: values.date,
    isPublished: values.publish,
  };
  return { options };
}

function isDate(text) {
  const time = Date.parse(`${text}T00:00:00Z`);
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}
