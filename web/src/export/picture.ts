// A picture of the page as a PNG: a copy of its elements with the page's style sheets in an SVG image, drawn on a
// canvas. Nothing is fetched, and what is drawn is what is seen.

const margin = 16;

// In an image a canvas would be empty; what it shows goes along as an image of its own.
function frozen(canvas: HTMLCanvasElement): HTMLElement {
  const image = document.createElement('img');
  image.src = canvas.toDataURL();
  const style = getComputedStyle(canvas);
  for (const name of ['width', 'height', 'display', 'border-radius', 'image-rendering', 'margin-top']) {
    image.style.setProperty(name, style.getPropertyValue(name));
  }
  return image;
}

function copyOf(picture: HTMLElement): HTMLElement {
  const copy = picture.cloneNode(true) as HTMLElement;
  const canvases = copy.querySelectorAll('canvas');
  for (const [i, canvas] of picture.querySelectorAll('canvas').entries()) canvases[i]?.replaceWith(frozen(canvas));
  const inputs = copy.querySelectorAll('input');
  for (const [i, input] of picture.querySelectorAll('input').entries()) {
    inputs[i]?.setAttribute('value', input.value);
    inputs[i]?.toggleAttribute('checked', input.checked);
  }
  return copy;
}

function styleSheets(): string {
  return Array.from(document.styleSheets, ({ cssRules }) =>
    Array.from(cssRules, ({ cssText }) => cssText).join('\n'),
  ).join('\n');
}

// The picture in the surroundings that its style rules speak of, as text.
function image(picture: HTMLElement, width: number, height: number): string {
  const root = getComputedStyle(document.documentElement);
  const frame = picture.closest('figure');
  const around = document.createElement('div');
  const outer = document.createElement('figure');
  outer.className = frame?.className ?? '';
  outer.style.cssText = 'max-width: none; margin: 0; padding: 0;';
  outer.append(copyOf(picture));
  const body = getComputedStyle(document.body);
  around.style.cssText = `width: ${width}px; padding: ${margin}px; box-sizing: content-box; line-height: ${body.lineHeight}; color: ${root.color};`;
  around.append(outer);
  const svg = new XMLSerializer().serializeToString(around);
  const [w, h] = [width + 2 * margin, height + 2 * margin];
  const { theme } = document.documentElement.dataset;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" lang="${document.documentElement.lang}" xml:lang="${document.documentElement.lang}"${
    theme === undefined ? '' : ` data-theme="${theme}"`
  } style="font-size: ${root.fontSize}"><style>${styleSheets().replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</style><foreignObject width="${w}" height="${h}">${svg}</foreignObject></svg>`;
}

const frame = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 50));

/** Twice as fine as the screen's own pixels, on the colour that it stands on. */
export async function pngOf(picture: HTMLElement): Promise<Blob> {
  // A picture that gave its place to a table has no size; it comes back for a moment.
  const { hidden } = picture;
  picture.hidden = false;
  if (hidden) await frame();
  const { width, height } = picture.getBoundingClientRect();
  const ground = getComputedStyle(picture.parentElement ?? picture).backgroundColor;
  const source = image(picture, Math.ceil(width), Math.ceil(height));
  picture.hidden = hidden;
  const drawn = new Image();
  drawn.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(source)}`;
  await drawn.decode();
  const canvas = document.createElement('canvas');
  canvas.width = drawn.width * 2;
  canvas.height = drawn.height * 2;
  const context = canvas.getContext('2d');
  if (context === null) throw new Error('no canvas');
  context.fillStyle = ground;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(drawn, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob === null ? reject(new Error('no PNG')) : resolve(blob)), 'image/png');
  });
}
