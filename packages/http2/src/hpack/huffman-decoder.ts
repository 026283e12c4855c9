/**
 * Decodes Huffman strings four bits at a time: a table gives, for each inner node of the code tree and each nibble,
 * the node after it and the symbol passed on the way (at most one, as the shortest code has five bits).
 */
import { codeLengths, codes, endOfString } from './huffman-code.ts';

const hasSymbol = 1 << 8;
const isFailed = 1 << 9;
const nodeShift = 10;

interface Node {
  readonly number: number;
  readonly children: [Node | number | undefined, Node | number | undefined];
  /** Whether the bits that lead here are a prefix of end-of-string, at most seven: valid padding. */
  readonly isPadding: boolean;
}

const nodes = buildTree();
/** By node and nibble: symbol in the low eight bits, flags, next node above. */
const transitions = buildTransitions(nodes);
const mayEndAt = Uint8Array.from(nodes, (node) => (node.isPadding ? 1 : 0));

function buildTree(): Node[] {
  const built: Node[] = [{ number: 0, children: [undefined, undefined], isPadding: true }];
  for (let symbol = 0; symbol <= endOfString; symbol++) {
    const bits = codeLengths[symbol] as number;
    let node = built[0] as Node;
    for (let depth = 1; depth <= bits; depth++) {
      const bit = ((codes[symbol] as number) >>> (bits - depth)) & 1;
      if (depth === bits) {
        node.children[bit] = symbol;
        break;
      }
      let child = node.children[bit];
      if (child === undefined) {
        child = {
          number: built.length,
          children: [undefined, undefined],
          isPadding: node.isPadding && bit === 1 && depth <= 7,
        };
        built.push(child);
        node.children[bit] = child;
      }
      node = child as Node;
    }
  }
  return built;
}

function buildTransitions(tree: readonly Node[]): Uint32Array {
  const table = new Uint32Array(tree.length * 16);
  for (const from of tree) {
    for (let nibble = 0; nibble < 16; nibble++) {
      let node = from;
      let entry = 0;
      for (let shift = 3; shift >= 0 && (entry & isFailed) === 0; shift--) {
        const child = node.children[((nibble >>> shift) & 1) as 0 | 1];
        if (child === undefined || child === endOfString) entry |= isFailed;
        else if (typeof child === 'number') {
          entry |= hasSymbol | child;
          node = tree[0] as Node;
        } else node = child;
      }
      table[from.number * 16 + nibble] = entry | (node.number << nodeShift);
    }
  }
  return table;
}

/**
 * Decodes `bytes[start, end)` into `into`, which must hold 8/5 of the input. Returns how many bytes it wrote, or -1
 * when the string contains end-of-string or its padding is not the beginning of it.
 */
export function decodeHuffman(bytes: Uint8Array, start: number, end: number, into: Uint8Array): number {
  let node = 0;
  let written = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    const first = transitions[(node << 4) | (byte >>> 4)] as number;
    if ((first & hasSymbol) !== 0) into[written++] = first;
    const second = transitions[((first >>> nodeShift) << 4) | (byte & 15)] as number;
    if ((second & hasSymbol) !== 0) into[written++] = second;
    if (((first | second) & isFailed) !== 0) return -1;
    node = second >>> nodeShift;
  }
  return mayEndAt[node] === 1 ? written : -1;
}
