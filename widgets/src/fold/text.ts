// Numbers and widths of texts, as Python formats and estimates them: drawing/text_metrics.py and format().

/** A whole number with commas, as `{:,}`; a fraction is rounded as by `{:,.0f}`, to even in the middle. */
export function commas(value: number): string {
  if (!Number.isFinite(value)) return String(value).replace("Infinity", "inf");
  const whole = Math.floor(value);
  const part = value - whole;
  const rounded = part > 0.5 || (part === 0.5 && whole % 2 !== 0) ? whole + 1 : whole;
  return BigInt(rounded)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A number of programs, as Python's `programs_text`: exact below a million, else with three digits. */
export function programsText(count: number): string {
  if (!(count >= 999_500 && count < Number.POSITIVE_INFINITY)) return commas(count);
  let exponent = String(BigInt(Math.floor(count))).length - 1;
  let digits = halfEven(count / Number(`1e${exponent - 2}`));
  if (digits === 1000) [digits, exponent] = [100, exponent + 1];
  const power = String(exponent).replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)] ?? "");
  return `${(digits / 100).toFixed(2)}·10${power}`;
}

/** A number with its noun, as Python's `count_text`. */
export function countText(count: number, one: string, several: string): string {
  return `${commas(count)} ${count === 1 ? one : several}`;
}

/** A share as `{:.0%}`. */
export function percent(share: number): string {
  if (share < 0.005) return "<1%";
  return `${halfEven(share * 100)}%`;
}

/** The nearest whole number, as `round`: to even in the middle. */
export function halfEven(value: number): number {
  const whole = Math.floor(value);
  const part = value - whole;
  return part > 0.5 || (part === 0.5 && whole % 2 !== 0) ? whole + 1 : whole;
}

/** Hundredths, as Python's `round(value, 2)`: to even exactly in the middle. */
export function hundredths(value: number): number {
  const eighths = value * 8;
  if (Number.isInteger(eighths) && !Number.isInteger(value * 4)) {
    const below = Math.floor(value * 100);
    return (below % 2 === 0 ? below : below + 1) / 100;
  }
  return Number(value.toFixed(2));
}

const COMBINING = /\p{Mn}|\p{Me}/u;
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6fc}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]/u;
// biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII is the common case and the fast one
const ASCII = /^[\0-\x7f]*$/;

/** Width in characters: wide characters count as two, combining marks as none. */
export function columns(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += columnsOf(character);
  return width;
}

function columnsOf(character: string): number {
  if (COMBINING.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

/** The text on one line; a longer text ends in an ellipsis. */
export function shorten(text: string, characters: number): string {
  const line = text.split(/\s+/).filter(Boolean).join(" ");
  if (columns(line) <= characters) return line;
  let prefix = "";
  let width = 0;
  for (const character of line) {
    width += columnsOf(character);
    if (width > characters - 1) break;
    prefix += character;
  }
  return `${prefix.trimEnd()}…`;
}
