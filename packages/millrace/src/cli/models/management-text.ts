/** Formats answers of the management API as tables for people. Missing members are shown as a dash. */
import type { JsonObject, JsonValue } from '@millrace/protocol';
import type { Paint } from '../../terminal.ts';
import { isObject } from '../server-call.ts';
import { table } from '../text-layout.ts';

type Column = readonly [head: string, cell: (row: JsonObject) => string];

function tableText(columns: readonly Column[], rows: readonly JsonObject[], paint: Paint, none: string): string {
  if (rows.length === 0) return `${none}\n`;
  const cells = rows.map((row) => columns.map(([, cell]) => cell(row)));
  const [head = '', ...body] = table([columns.map(([name]) => name), ...cells]);
  return `${[paint('dim', head), ...body].join('\n')}\n`;
}

export function contextsText(contexts: JsonObject, index: JsonObject, paint: Paint): string {
  const served = rowsOf(contexts.contexts);
  const names = new Set(served.map((row) => row.model));
  const columns: Column[] = [
    ['MODEL', (row) => text(row.model)],
    ['VERSION', (row) => text(row.version)],
    ['STATE', (row) => `${text(row.state)}${row.pinned === true ? ', pinned' : ''}`],
    ['LABELS', (row) => textsOf(row.labels).join(', ') || '-'],
    ['INSTANCES', (row) => text(row.instances)],
    ['WAITING', (row) => text(row.waitingRequests)],
    ['RUNNING', (row) => text(row.runningRequests)],
    ['MEMORY', (row) => bytes(row.residentBytes)],
    ['IDLE', (row) => duration(row.idleMs)],
  ];
  const others = [...new Set(rowsOf(index.models).map((row) => text(row.name)))].filter((name) => !names.has(name));
  const problems = served.filter((row) => text(row.reason, '') !== '');
  return [
    tableText(columns, served, paint, 'No model is loaded.'),
    ...problems.map((row) => `${paint('yellow', '!')} ${text(row.model)}:${text(row.version)}: ${text(row.reason)}\n`),
    ...(others.length === 0 ? [] : [`Not loaded: ${others.join(', ')}\n`]),
  ].join('');
}

export function trafficText(model: string, traffic: JsonObject): string {
  const labels = isObject(traffic.labels) ? Object.entries(traffic.labels) : [];
  const rows = [
    ['labels', labels.map(([label, version]) => `${label}=${text(version)}`).join(' ') || 'none'],
    ['split', shares(traffic.split, 'weight', '') || 'none: the highest ready version gets all requests'],
    ['shadows', shares(traffic.shadows, 'percent', ' %') || 'none'],
    ['revision', text(traffic.revision)],
  ];
  return `${[model, ...table(rows).map((line) => `  ${line}`)].join('\n')}\n`;
}

export function instancesText(answer: JsonObject, paint: Paint): string {
  const columns: Column[] = [
    ['WORKER', (row) => text(row.worker)],
    ['PID', (row) => text(row.pid)],
    ['MODEL', (row) => text(row.model)],
    ['VERSION', (row) => text(row.version)],
    ['GROUP', (row) => text(row.group)],
    ['DEVICE', (row) => text(row.device)],
    ['BREAKER', (row) => text(row.breaker)],
    ['BATCHES', (row) => text(row.outstandingBatches)],
    ['ROW', (row) => duration(row.rowMs)],
    ['PRIORITY', (row) => (row.priorityMax === undefined ? 'all' : `≤ ${text(row.priorityMax)}`)],
  ];
  return tableText(columns, rowsOf(answer.instances), paint, 'No worker serves a model.');
}

export function queuesText(answer: JsonObject, paint: Paint): string {
  const columns: Column[] = [
    ['MODEL', (row) => text(row.model)],
    ['VERSION', (row) => text(row.version)],
    ['WAITING', (row) => text(row.waitingRequests)],
    ['BYTES', (row) => bytes(row.waitingBytes)],
    ['WAIT', (row) => duration(row.waitMs)],
  ];
  const total = `${text(answer.waitingRequests)} waiting (${bytes(answer.waitingBytes)}), ${text(answer.runningRequests)} running`;
  return `${tableText(columns, rowsOf(answer.models), paint, 'No model is loaded.')}${total}\n`;
}

export function streamsText(answer: JsonObject, paint: Paint): string {
  const columns: Column[] = [
    ['ID', (row) => text(row.id)],
    ['MODEL', (row) => `${text(row.model)}:${text(row.version)}`],
    ['STATE', streamState],
    ['AGE', (row) => duration(row.ageMs)],
    ['INPUTS', (row) => text(row.acceptedInputs)],
    ['OUTPUTS', (row) => text(row.outputs)],
    ['JOURNAL', (row) => bytes(row.journalBytes)],
  ];
  const more = answer.next === undefined ? '' : `More: --after ${text(answer.next)}\n`;
  return `${tableText(columns, rowsOf(answer.streams), paint, 'There is no stream.')}${more}`;
}

export function streamText(stream: JsonObject): string {
  const ended = isObject(stream.ended) ? stream.ended : {};
  const rows = [
    ['model', `${text(stream.model)}:${text(stream.version)}`],
    ['state', streamState(stream)],
    ...(ended.message === undefined || ended.message === '' ? [] : [['reason', text(ended.message)]]),
    ['age', duration(stream.ageMs)],
    ['opened', time(stream.openedAtMs)],
    ['expires', time(stream.expiresAtMs)],
    ['inputs', `${text(stream.acceptedInputs)} accepted`],
    ['outputs', text(stream.outputs)],
    ['journal', bytes(stream.journalBytes)],
    ...(stream.exact === undefined ? [] : [['exact', `${text(stream.exact)} (${text(stream.exactness)})`]]),
    ['epoch', text(stream.epoch)],
  ];
  return `${[text(stream.id), ...table(rows).map((line) => `  ${line}`)].join('\n')}\n`;
}

function streamState(row: JsonObject): string {
  if (isObject(row.ended)) {
    return row.ended.code === undefined
      ? text(row.ended.outcome)
      : `${text(row.ended.outcome)}: ${text(row.ended.code)}`;
  }
  if (row.owned !== true) return 'in the journal';
  return row.attached === true ? 'attached' : 'detached';
}

function time(value: JsonValue | undefined): string {
  return typeof value === 'number' ? new Date(value).toISOString() : '-';
}

function shares(list: JsonValue | undefined, member: string, unit: string): string {
  return rowsOf(list)
    .map((row) => `${text(row.version)}=${text(row[member])}${unit}`)
    .join(' ');
}

function rowsOf(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function textsOf(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.map((one) => text(one)) : [];
}

function text(value: JsonValue | undefined, none = '-'): string {
  if (value === undefined || value === null || value === '') return none;
  return typeof value === 'object' ? none : String(value);
}

function bytes(value: JsonValue | undefined): string {
  if (typeof value !== 'number' || value < 0) return '-';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let scaled = value;
  let unit = 0;
  while (scaled >= 1024 && unit < units.length - 1) {
    scaled /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? scaled : scaled.toFixed(1)} ${units[unit]}`;
}

function duration(value: JsonValue | undefined): string {
  if (typeof value !== 'number') return '-';
  if (value < 1000) return `${Number(value.toPrecision(3))} ms`;
  return value < 120_000 ? `${(value / 1000).toFixed(1)} s` : `${Math.round(value / 60_000)} min`;
}
