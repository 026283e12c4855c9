/** CHANGELOG.md: `## Unreleased` first, below it `## VERSION (DATE)` for each release, the newest first. */

const unreleased = '## Unreleased\n';

/** @returns {string[]} The newest first. */
export function releasedVersions(text) {
  return [...text.matchAll(/^## (\d+\.\d+\.\d+)\b/gm)].map(([, version]) => version);
}

/**
 * The changelog with what was unreleased under the version, and an empty section of what is unreleased above it.
 * @returns {{ text: string, notes: string } | { problem: string }} The notes are the version's section without its heading.
 */
export function cutChangelog(text, version, date) {
  const start = text.indexOf(`\n${unreleased}`);
  if (start === -1) return { problem: `CHANGELOG.md has no line '${unreleased.trim()}': add it below the title` };
  const begin = start + 1 + unreleased.length;
  const next = text.indexOf('\n## ', begin);
  const notes = text.slice(begin, next === -1 ? undefined : next).trim();
  if (notes === '')
    return { problem: 'CHANGELOG.md lists no unreleased change: write what changed, or do not release' };
  const rest = next === -1 ? '' : text.slice(next);
  return { text: `${text.slice(0, begin)}\n## ${version} (${date})\n\n${notes}\n${rest}`, notes };
}
