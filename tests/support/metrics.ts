/**
 * All samples of a scrape, by name and labels. Throws where promtool would complain: a metric without HELP and TYPE before
 * it, one that has them twice, samples of a metric that are not together, a sample twice.
 */
export function samplesFrom(text: string): Map<string, number> {
  const samples = new Map<string, number>();
  const heads = new Set<string>();
  let family = '';
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const head = /^# (HELP|TYPE) (\w+) /.exec(line);
    if (head !== null) {
      family = head[2] as string;
      if (heads.has(`${head[1]} ${family}`)) throw new Error(`${head[1]} of ${family} is there twice`);
      heads.add(`${head[1]} ${family}`);
      continue;
    }
    const sample = /^((\w+)(?:\{.*\})?) (\S+)$/.exec(line);
    if (sample === null) throw new Error(`not a sample: ${line}`);
    const name = (sample[2] as string).replace(/_(bucket|sum|count)$/, '');
    const isOfFamily = family === sample[2] || family === name;
    if (!isOfFamily || !heads.has(`HELP ${family}`) || !heads.has(`TYPE ${family}`)) {
      throw new Error(`no HELP and TYPE before ${line}`);
    }
    if (samples.has(sample[1] as string)) throw new Error(`${sample[1]} is there twice`);
    samples.set(sample[1] as string, Number(sample[3]));
  }
  return samples;
}

/** What all samples of a scrape with these labels sum up to: a counter has a series for every model from the start. */
export function metricFrom(text: string, name: string, labels: Readonly<Record<string, string>> = {}): number {
  let sum = 0;
  for (const line of text.split('\n')) {
    const match = /^([\w:]+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (match?.[1] !== name) continue;
    const shown = new Map([...(match[2] ?? '').matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value]) => [key, value]));
    if (Object.entries(labels).every(([key, value]) => shown.get(key) === value)) sum += Number(match[3]);
  }
  return sum;
}
