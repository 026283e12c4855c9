/** Reads server-sent events from the response of a `fetch`, as an EventSource would. */

export interface ReceivedEvent {
  readonly name: string;
  readonly id: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;
}

export class EventReader {
  readonly events: ReceivedEvent[] = [];
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #text = '';
  #isOver: boolean = false;

  constructor(response: Response) {
    this.#reader = (response.body as ReadableStream<Uint8Array>).getReader();
  }

  /** Undefined: the response has ended. Throws where it broke off. */
  async next(): Promise<ReceivedEvent | undefined> {
    for (;;) {
      const end = this.#text.indexOf('\n\n');
      if (end >= 0) {
        const event = eventFrom(this.#text.slice(0, end));
        this.#text = this.#text.slice(end + 2);
        if (event === undefined) continue;
        this.events.push(event);
        return event;
      }
      if (this.#isOver) return undefined;
      const { done, value } = await this.#reader.read();
      this.#isOver = done;
      if (value !== undefined) this.#text += this.#decoder.decode(value, { stream: true });
    }
  }

  /** Reads on until there are this many outputs. */
  async outputs(count: number): Promise<void> {
    while (this.events.filter(({ name }) => name === 'output').length < count) {
      if ((await this.next()) === undefined) throw new Error(`the response ended before output ${count}`);
    }
  }

  async rest(): Promise<void> {
    while ((await this.next()) !== undefined);
  }

  cut(): Promise<void> {
    return this.#reader.cancel();
  }
}

/** Undefined: a comment. */
export function eventFrom(text: string): ReceivedEvent | undefined {
  const fields = new Map<string, string>();
  for (const line of text.split('\n')) {
    const colon = line.indexOf(': ');
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 2));
  }
  const data = fields.get('data');
  if (data === undefined) return undefined;
  return { name: fields.get('event') ?? 'message', id: fields.get('id'), data: JSON.parse(data) };
}
