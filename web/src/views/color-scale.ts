// A sequential scale for weights from 0 to 1: even steps of lightness, from the colour of the paper away from it, so
// that more is darker on light paper and brighter on dark, also for those who see hues differently.

type Rgb = readonly [number, number, number];

const light: readonly Rgb[] = [
  [244, 242, 232],
  [214, 230, 205],
  [157, 208, 191],
  [88, 174, 185],
  [44, 131, 176],
  [38, 85, 150],
  [33, 40, 98],
];

const dark: readonly Rgb[] = [
  [33, 37, 50],
  [38, 62, 110],
  [35, 98, 146],
  [42, 137, 155],
  [84, 176, 146],
  [160, 211, 140],
  [245, 244, 184],
];

function at(stops: readonly Rgb[], t: number): Rgb {
  const place = Math.min(Math.max(t, 0), 1) * (stops.length - 1);
  const i = Math.min(Math.floor(place), stops.length - 2);
  const [from, to] = [stops[i] ?? [0, 0, 0], stops[i + 1] ?? [0, 0, 0]];
  const mix = (c: 0 | 1 | 2): number => Math.round(from[c] + (to[c] - from[c]) * (place - i));
  return [mix(0), mix(1), mix(2)];
}

/** The colour of a share of the scale. */
export function colorOf(share: number, onDark: boolean): string {
  return `rgb(${at(onDark ? dark : light, share).join(' ')})`;
}

/** Black or white, whichever can be read on the colour of a share. */
export function inkOn(share: number, onDark: boolean): string {
  const [r, g, b] = at(onDark ? dark : light, share).map((c) => (c / 255) ** 2.2) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.2 ? '#14161b' : '#ffffff';
}
