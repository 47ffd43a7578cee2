// Decompresses what Python's `lzma` writes as FORMAT_ALONE. A report uses it because browsers only decompress deflate,
// which finds no repetitions more than 32 KB apart: with 700 events the data of a page takes 0.24 MB, and 0.35 MB by
// deflate. This adds 2.4 KB to the bundle; the package lzma1 would add 48 KB, its encoder included.
// The names are those of the LZMA specification of the 7-Zip project.

const HEADER_BYTES = 13;
const STATES = 12;
const POSITIONS = 16;
const LENGTHS = 2 + 2 * POSITIONS * 8 + 256;
const SHORTEST = 2;
const END_MARKER = 0xffffffff;

// Where the probabilities of each kind of bit begin in one array.
const IS_MATCH = 0;
const IS_REP = IS_MATCH + STATES * POSITIONS;
const IS_REP_0 = IS_REP + STATES;
const IS_REP_1 = IS_REP_0 + STATES;
const IS_REP_2 = IS_REP_1 + STATES;
const IS_LONG_REP_0 = IS_REP_2 + STATES;
const SLOTS = IS_LONG_REP_0 + STATES * POSITIONS;
const SPECIAL = SLOTS + 4 * 64;
const ALIGN = SPECIAL + 115;
const MATCH_LENGTH = ALIGN + 16;
const REP_LENGTH = MATCH_LENGTH + LENGTHS;
const LITERALS = REP_LENGTH + LENGTHS;

/** Reads bits by a range coder with adaptive probabilities. */
class Bits {
  private range = 0xffffffff;
  private code = 0;
  private readonly probabilities: Uint16Array;

  constructor(
    private readonly packed: Uint8Array,
    private position: number,
    probabilities: number,
  ) {
    this.probabilities = new Uint16Array(probabilities).fill(1024);
    for (let n = 0; n < 5; n++) this.code = ((this.code << 8) | this.next()) >>> 0;
  }

  private next(): number {
    const byte = this.packed[this.position++];
    if (byte === undefined) throw new Error("the compressed data ends too early");
    return byte;
  }

  private normalize(): void {
    if (this.range >= 0x1000000) return;
    this.range = (this.range << 8) >>> 0;
    this.code = ((this.code << 8) | this.next()) >>> 0;
  }

  /** A bit with the probability at an index. */
  bit(index: number): 0 | 1 {
    const probability = this.probabilities[index] as number;
    const bound = (this.range >>> 11) * probability;
    const isOne = this.code >= bound;
    if (isOne) {
      this.range -= bound;
      this.code -= bound;
      this.probabilities[index] = probability - (probability >>> 5);
    } else {
      this.range = bound;
      this.probabilities[index] = probability + ((2048 - probability) >>> 5);
    }
    this.normalize();
    return isOne ? 1 : 0;
  }

  /** So many bits of equal probability, the highest first. */
  direct(count: number): number {
    let value = 0;
    for (let n = 0; n < count; n++) {
      this.range >>>= 1;
      const isOne = this.code >= this.range;
      if (isOne) this.code -= this.range;
      value = value * 2 + (isOne ? 1 : 0);
      this.normalize();
    }
    return value;
  }

  /** A number of so many bits, the highest first. */
  tree(base: number, count: number): number {
    let node = 1;
    for (let n = 0; n < count; n++) node = (node << 1) | this.bit(base + node);
    return node - (1 << count);
  }

  /** A number of so many bits, the lowest first. */
  reverseTree(base: number, count: number): number {
    let [node, value] = [1, 0];
    for (let n = 0; n < count; n++) {
      const bit = this.bit(base + node);
      node = (node << 1) | bit;
      value |= bit << n;
    }
    return value;
  }

  /** The length of a match, less the shortest one. */
  length(base: number, position: number): number {
    if (!this.bit(base)) return this.tree(base + 2 + position * 8, 3);
    if (!this.bit(base + 1)) return 8 + this.tree(base + 2 + (POSITIONS + position) * 8, 3);
    return 16 + this.tree(base + 2 + 2 * POSITIONS * 8, 8);
  }

  /** The distance of a match of this length, less 1. */
  distance(length: number): number {
    const slot = this.tree(SLOTS + Math.min(length, 3) * 64, 6);
    if (slot < 4) return slot;
    const count = (slot >> 1) - 1;
    const start = (2 | (slot & 1)) * 2 ** count;
    if (slot < 14) return start + this.reverseTree(SPECIAL + start - slot, count);
    return start + this.direct(count - 4) * 16 + this.reverseTree(ALIGN, 4);
  }
}

/**
 * Decompresses data that ends with a marker.
 *
 * @throws {Error} the data is damaged.
 */
export function decompress(packed: Uint8Array): Uint8Array<ArrayBuffer> {
  const properties = packed[0] ?? 255;
  if (properties >= 9 * 5 * 5) throw new Error("the compressed data has no header");
  const literalBits = properties % 9;
  const literalMask = (1 << (Math.floor(properties / 9) % 5)) - 1;
  const positionMask = (1 << Math.floor(properties / 45)) - 1;
  const bits = new Bits(packed, HEADER_BYTES, LITERALS + (0x300 << literalBits) * (literalMask + 1));
  let out = new Uint8Array(8 * packed.length + 1024);
  let [size, state] = [0, 0];
  let [rep0, rep1, rep2, rep3] = [0, 0, 0, 0];

  const reserve = (count: number) => {
    if (size + count <= out.length) return;
    const larger = new Uint8Array(2 * out.length + count);
    larger.set(out);
    out = larger;
  };
  const literal = () => {
    const before = size > 0 ? (out[size - 1] as number) : 0;
    const context = ((size & literalMask) << literalBits) + (before >> (8 - literalBits));
    const base = LITERALS + 0x300 * context;
    let symbol = 1;
    if (state >= 7) {
      // After a match, the byte that would have continued it is likely to be another one.
      let expected = out[size - rep0 - 1] as number;
      while (symbol < 0x100) {
        const expectedBit = (expected >> 7) & 1;
        expected <<= 1;
        const bit = bits.bit(base + ((1 + expectedBit) << 8) + symbol);
        symbol = (symbol << 1) | bit;
        if (bit !== expectedBit) break;
      }
    }
    while (symbol < 0x100) symbol = (symbol << 1) | bits.bit(base + symbol);
    out[size++] = symbol;
    state = state < 4 ? 0 : state - (state < 10 ? 3 : 6);
  };
  const copy = (count: number) => {
    if (rep0 >= size) throw new Error("the compressed data is damaged");
    reserve(count);
    for (let n = 0; n < count; n++, size++) out[size] = out[size - rep0 - 1] as number;
  };

  for (;;) {
    const position = size & positionMask;
    if (!bits.bit(IS_MATCH + state * POSITIONS + position)) {
      reserve(1);
      literal();
      continue;
    }
    if (!bits.bit(IS_REP + state)) {
      const length = bits.length(MATCH_LENGTH, position);
      [rep3, rep2, rep1, rep0] = [rep2, rep1, rep0, bits.distance(length)];
      if (rep0 === END_MARKER) return out.subarray(0, size);
      state = state < 7 ? 7 : 10;
      copy(length + SHORTEST);
      continue;
    }
    if (!bits.bit(IS_REP_0 + state)) {
      if (!bits.bit(IS_LONG_REP_0 + state * POSITIONS + position)) {
        state = state < 7 ? 9 : 11;
        copy(1);
        continue;
      }
    } else if (!bits.bit(IS_REP_1 + state)) {
      [rep1, rep0] = [rep0, rep1];
    } else if (!bits.bit(IS_REP_2 + state)) {
      [rep2, rep1, rep0] = [rep1, rep0, rep2];
    } else {
      [rep3, rep2, rep1, rep0] = [rep2, rep1, rep0, rep3];
    }
    const length = bits.length(REP_LENGTH, position);
    state = state < 7 ? 8 : 11;
    copy(length + SHORTEST);
  }
}
