/** Server-sent events out of text that arrives in pieces, as the HTML standard reads them. */
export interface ServerEvent {
  /** The name of the event; empty where it has none. */
  readonly name: string;
  readonly data: string;
}

/** The longest event; a server of ours writes none that is longer. */
const eventCharactersMax = 64 * 1024 * 1024;

export class ServerEventReader {
  #rest = '';
  #name = '';
  #data: string[] = [];
  #isAfterReturn: boolean = false;

  /** The events that are complete with this piece. Throws a RangeError for one that is too long. */
  read(piece: string): readonly ServerEvent[] {
    const events: ServerEvent[] = [];
    let text = this.#rest + (this.#isAfterReturn && piece.startsWith('\n') ? piece.slice(1) : piece);
    if (piece !== '') this.#isAfterReturn = piece.endsWith('\r');
    for (let end = text.search(/[\r\n]/); end >= 0; end = text.search(/[\r\n]/)) {
      const line = text.slice(0, end);
      text = text.slice(text.startsWith('\r\n', end) ? end + 2 : end + 1);
      if (line === '') this.#dispatch(events);
      else this.#field(line);
    }
    if (text.length > eventCharactersMax) throw new RangeError('an event is too long');
    this.#rest = text;
    return events;
  }

  #field(line: string): void {
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1));
    if (name === 'event') this.#name = value;
    else if (name === 'data') this.#data.push(value);
  }

  #dispatch(events: ServerEvent[]): void {
    if (this.#data.length > 0) events.push({ name: this.#name, data: this.#data.join('\n') });
    this.#name = '';
    this.#data = [];
  }
}
