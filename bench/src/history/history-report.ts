/** Draws the history: a panel for each load, a step for each commit from the figure before it to its own, measured in the same run. */
import type { HistoryEntry, LoadFigures } from './history.ts';

interface Step {
  readonly commit: string;
  readonly before: number;
  readonly after: number;
}

const width = 760;
const panelHeight = 110;
const margin = { left: 60, right: 20, top: 34, bottom: 26 };

export function loadsIn(history: readonly HistoryEntry[]): readonly string[] {
  return [...new Set(history.flatMap(({ loads }) => Object.keys(loads)))];
}

/** The figure that a load is about: the time of an answer where there is one caller, otherwise processor time of the server. */
function stepFrom(commit: string, figures: LoadFigures): Step {
  const { p50Micros, p50MicrosBefore, serverMicros, serverMicrosBefore } = figures;
  return p50Micros === undefined || p50MicrosBefore === undefined
    ? { commit, before: serverMicrosBefore, after: serverMicros }
    : { commit, before: p50MicrosBefore, after: p50Micros };
}

function stepsOf(history: readonly HistoryEntry[], load: string): readonly Step[] {
  return history.flatMap(({ commit, loads }) => {
    const figures = loads[load];
    return figures === undefined ? [] : [stepFrom(commit.slice(0, 7), figures)];
  });
}

function unitOf(history: readonly HistoryEntry[], load: string): string {
  const isTimed = history.some(({ loads }) => loads[load]?.p50Micros !== undefined);
  return isTimed ? 'p50 of an answer, µs' : 'server µs a request';
}

function panel(title: string, steps: readonly Step[], top: number): string {
  const highest = 1.1 * Math.max(...steps.flatMap(({ before, after }) => [before, after]));
  const slot = (width - margin.left - margin.right) / steps.length;
  const y = (value: number): string => (top + panelHeight - (value / highest) * panelHeight).toFixed(1);
  const parts = [`<text x="${margin.left}" y="${top - 8}" class="title">${title}</text>`];
  for (const value of [0, highest / 2.2, highest / 1.1]) {
    parts.push(
      `<line x1="${margin.left}" x2="${width - margin.right}" y1="${y(value)}" y2="${y(value)}" class="grid"/>`,
      `<text x="${margin.left - 8}" y="${Number(y(value)) + 4}" text-anchor="end">${value.toFixed(0)}</text>`,
    );
  }
  for (const [index, { commit, before, after }] of steps.entries()) {
    const middle = margin.left + slot * (index + 0.5);
    const [from, to] = [middle - Math.min(30, slot / 4), middle + Math.min(30, slot / 4)].map((x) => x.toFixed(1));
    const ratio = after / before;
    const color = ratio > 1.03 ? '#c0392b' : ratio < 0.97 ? '#1e8449' : '#555555';
    parts.push(
      `<line x1="${from}" x2="${to}" y1="${y(before)}" y2="${y(after)}" stroke="${color}" stroke-width="1.6"/>`,
      `<circle cx="${from}" cy="${y(before)}" r="3" fill="#ffffff" stroke="${color}"/>`,
      `<circle cx="${to}" cy="${y(after)}" r="3.5" fill="${color}"/>`,
      `<text x="${middle.toFixed(1)}" y="${top + panelHeight + 14}" text-anchor="middle">${commit} ${ratio.toFixed(2)}x</text>`,
    );
  }
  return parts.join('\n');
}

export function historyPlot(history: readonly HistoryEntry[]): string {
  const step = panelHeight + margin.top + margin.bottom;
  const loads = loadsIn(history);
  const height = loads.length * step + 24;
  const style = 'text{font:12px sans-serif}.title{font-weight:bold}.grid{stroke:#dddddd}';
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    '<title>Each load over commits</title>',
    `<style>${style}</style><rect width="${width}" height="${height}" fill="#ffffff"/>`,
    ...loads.map((load, index) =>
      panel(`${load}: ${unitOf(history, load)}`, stepsOf(history, load), margin.top + index * step),
    ),
    `<text x="${margin.left}" y="${height - 8}">open circle: the commit before, in the same run; filled: the commit; less is better</text>`,
    '</svg>\n',
  ].join('\n');
}

export function historyTable(history: readonly HistoryEntry[]): string {
  const loads = loadsIn(history);
  const lines = [
    '# Speed over commits',
    '',
    'Each row compares a commit with an earlier one, both measured in the same run. Figures of different rows come from different runs',
    'and mostly from different machines: compare ratios. Server µs a request; where there is one caller, the p50 of an answer in µs.',
    'Written by `npm run bench -- history` from `bench/history.jsonl`.',
    '',
    '![Each load over commits](history.svg)',
    '',
    `| commit | before | date | ${loads.join(' | ')} |`,
    `|---|---|---|${loads.map(() => '---').join('|')}|`,
    ...history.map(({ commit, before, date, loads: measured }) => {
      const figures = loads.map((load) => {
        const one = measured[load];
        if (one === undefined) return '–';
        const step = stepFrom(commit, one);
        return `${step.before.toFixed(1)} → ${step.after.toFixed(1)} (${(step.after / step.before).toFixed(2)}x)`;
      });
      return `| ${commit.slice(0, 8)} | ${before.slice(0, 8)} | ${date.slice(0, 10)} | ${figures.join(' | ')} |`;
    }),
    '',
    'Machines:',
    '',
    ...[...new Set(history.map(({ machine }) => machine))].map((machine) => `- ${machine}`),
  ];
  return `${lines.join('\n')}\n`;
}
