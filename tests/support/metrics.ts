/** One value of a scrape. */
export function metricFrom(text: string, name: string, labels: Readonly<Record<string, string>> = {}): number {
  for (const line of text.split('\n')) {
    const match = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (match?.[1] !== name) continue;
    const shown = new Map([...(match[2] ?? '').matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value]) => [key, value]));
    if (Object.entries(labels).every(([key, value]) => shown.get(key) === value)) return Number(match[3]);
  }
  return 0;
}
