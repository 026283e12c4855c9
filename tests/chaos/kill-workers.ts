/**
 * Load while workers are killed: every request must be answered once, rightly, and none may fail. A request adds two
 * vectors of its own, so an answer that belongs to another request, or comes twice, cannot pass.
 */
import { Agent, request } from 'node:http';
import type { ServerProcess } from '../support/server-process.ts';

export interface ChaosOptions {
  readonly connections: number;
  /** Called after each answer with their count: kills when it is time, and says when to stop. */
  readonly afterAnswer: (answered: number) => 'go-on' | 'stop';
}

export interface ChaosReport {
  readonly sent: number;
  readonly answered: number;
  readonly failures: readonly string[];
}

const width = 16;

export async function loadWhile(server: ServerProcess, options: ChaosOptions): Promise<ChaosReport> {
  const agent = new Agent({ keepAlive: true, maxSockets: options.connections });
  const failures: string[] = [];
  let sent = 0;
  let answered = 0;
  let isOver = false;
  const caller = async (): Promise<void> => {
    while (!isOver) {
      sent += 1;
      const problem = await addOnce(server.url, agent, sent);
      if (problem === undefined) answered += 1;
      else failures.push(problem);
      if (failures.length > 10 || options.afterAnswer(answered) === 'stop') isOver = true;
    }
  };
  await Promise.all(Array.from({ length: options.connections }, caller));
  agent.destroy();
  return { sent, answered, failures };
}

/** Undefined when the answer is exactly right, otherwise what was wrong with it. */
async function addOnce(url: string, agent: Agent, number: number): Promise<string | undefined> {
  const left = Array.from({ length: width }, (_, index) => number * 31 + index);
  const right = Array.from({ length: width }, (_, index) => number - index * 7);
  const body = JSON.stringify({
    id: String(number),
    inputs: [
      { name: 'INPUT0', shape: [1, width], datatype: 'INT32', data: left },
      { name: 'INPUT1', shape: [1, width], datatype: 'INT32', data: right },
    ],
  });
  const { status, text } = await post(`${url}/v2/models/add_sub/infer`, agent, body);
  if (status !== 200) return `request ${number}: ${status} ${text}`;
  const answer = JSON.parse(text) as { id: string; outputs: { name: string; data: number[] }[] };
  const sum = answer.outputs.find(({ name }) => name === 'OUTPUT0')?.data;
  const difference = answer.outputs.find(({ name }) => name === 'OUTPUT1')?.data;
  const isRight =
    answer.id === String(number) &&
    left.every((value, index) => sum?.[index] === value + (right[index] as number)) &&
    left.every((value, index) => difference?.[index] === value - (right[index] as number));
  return isRight ? undefined : `request ${number}: wrong answer ${text}`;
}

function post(url: string, agent: Agent, body: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const outgoing = request(url, { method: 'POST', agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    outgoing.on('error', (error) => resolve({ status: 0, text: error.message }));
    outgoing.end(body);
  });
}
