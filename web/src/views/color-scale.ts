// Colours for numbers. Sequential: even steps of lightness from the colour of the paper away from it, so that more is
// darker on light paper and brighter on dark, also for those who see hues differently. Diverging: purple below zero and
// green above, which differ for every kind of colour sight, with the colour of the paper at zero itself. Blue and orange
// are queries and keys (base.css).

type Rgb = readonly [number, number, number];

export type Scale = 'sequential' | 'diverging';

const stops: Readonly<Record<Scale, { readonly light: readonly Rgb[]; readonly dark: readonly Rgb[] }>> = {
  sequential: {
    light: [
      [244, 242, 232],
      [214, 230, 205],
      [157, 208, 191],
      [88, 174, 185],
      [44, 131, 176],
      [38, 85, 150],
      [33, 40, 98],
    ],
    dark: [
      [33, 37, 50],
      [38, 62, 110],
      [35, 98, 146],
      [42, 137, 155],
      [84, 176, 146],
      [160, 211, 140],
      [245, 244, 184],
    ],
  },
  diverging: {
    light: [
      [84, 12, 104],
      [150, 66, 170],
      [208, 160, 214],
      [245, 243, 236],
      [176, 212, 112],
      [84, 150, 24],
      [24, 84, 0],
    ],
    dark: [
      [244, 184, 250],
      [190, 96, 206],
      [104, 44, 116],
      [34, 37, 46],
      [46, 88, 20],
      [104, 170, 52],
      [196, 240, 140],
    ],
  },
};

function at(colors: readonly Rgb[], t: number): Rgb {
  const place = t * (colors.length - 1);
  const i = Math.min(Math.floor(place), colors.length - 2);
  const [from, to] = [colors[i] ?? [0, 0, 0], colors[i + 1] ?? [0, 0, 0]];
  const mix = (c: 0 | 1 | 2): number => Math.round(from[c] + (to[c] - from[c]) * (place - i));
  return [mix(0), mix(1), mix(2)];
}

// So many shades differ by no more than one of 256 levels. Maps have thousands of cells: each shade is made once.
const shades = 2048;

function shaded<T>(make: (color: Rgb) => T): (share: number, onDark: boolean, scale?: Scale) => T {
  const made = new Map<readonly Rgb[], T[]>();
  return (share, onDark, scale = 'sequential') => {
    const colors = stops[scale][onDark ? 'dark' : 'light'];
    const known = made.get(colors) ?? [];
    made.set(colors, known);
    const shade = Math.round(Math.min(Math.max(share, 0), 1) * shades);
    const color = known[shade] ?? make(at(colors, shade / shades));
    known[shade] = color;
    return color;
  };
}

/** The colour of a share of the scale: 0 to 1; where it diverges zero is at 0.5. */
export const colorOf = shaded((color) => `rgb(${color.join(' ')})`);

/** The same as a pixel of an image. */
export const pixelOf = shaded(([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0);

/** Black or white, whichever can be read on the colour of a share: there nothing else would have a contrast of 4.5. */
export const inkOn = shaded((color) => {
  const [r, g, b] = color.map((c) => (c / 255) ** 2.2) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? '#000' : '#fff';
});

/** A strip of the whole scale, or of so many steps of it where no more colours occur. */
export function paintScale(canvas: HTMLCanvasElement, onDark: boolean, scale: Scale, steps = canvas.width): void {
  const context = canvas.getContext('2d');
  for (let x = 0; x < canvas.width; ++x) {
    if (context === null) return;
    context.fillStyle = colorOf(Math.floor((x * steps) / canvas.width) / (steps - 1 || 1), onDark, scale);
    context.fillRect(x, 0, 1, canvas.height);
  }
}
