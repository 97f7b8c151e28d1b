// A picture of the page as a PNG: a copy of its elements with the page's style sheets in an SVG image, drawn on a
// canvas, and below it what it shows: caption, settings and address. Nothing is fetched, and what is drawn is what is seen.
import { pause } from '../work/pause';

const margin = 16;

// Rows that are drawn in one task.
const strip = 256;

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

// What scrolls sideways where it has too little room.
const scrollers = '.scroller, .formula';

function copyOf<E extends Element>(picture: E): E {
  const copy = picture.cloneNode(true) as E;
  const canvases = copy.querySelectorAll('canvas');
  for (const [i, canvas] of picture.querySelectorAll('canvas').entries()) canvases[i]?.replaceWith(frozen(canvas));
  const inputs = copy.querySelectorAll('input');
  for (const [i, input] of picture.querySelectorAll('input').entries()) {
    inputs[i]?.setAttribute('value', input.value);
    inputs[i]?.toggleAttribute('checked', input.checked);
  }
  // Nothing is pointed at in a saved picture, and nothing scrolls.
  for (const readout of copy.querySelectorAll('.readout')) readout.remove();
  for (const box of copy.querySelectorAll<HTMLElement>(scrollers)) {
    box.style.overflow = 'visible';
    box.style.background = 'none';
  }
  return copy;
}

function styleSheets(): string {
  return Array.from(document.styleSheets, ({ cssRules }) =>
    Array.from(cssRules, ({ cssText }) => cssText).join('\n'),
  ).join('\n');
}

// Drawn parts side by side, each as wide as it is on the page.
function row(parts: readonly Element[]): HTMLElement {
  const made = document.createElement('div');
  made.style.cssText = `display: flex; flex-wrap: wrap; gap: ${2 * margin}px; align-items: center; margin-bottom: ${margin}px;`;
  for (const part of parts) {
    const box = document.createElement('div');
    box.style.width = `${Math.floor(part.getBoundingClientRect().width)}px`;
    box.append(copyOf(part));
    made.append(box);
  }
  return made;
}

// What is left out of a text after its first 400 characters.
const long = /(?<=^.{400}).+/s;

// Which step of a figure is shown, and what its controls are set to, in its words. Hidden controls play no part; those in
// a closed list of more settings do.
function settingsOf(figure: Element): string {
  const step = figure.querySelector('.steps-walk > span')?.textContent ?? '';
  const controls = Array.from(figure.querySelectorAll('.controls .control'));
  const settings = controls
    .filter((control) => control.closest('[hidden]') === null)
    .map((control) => {
      const name = control.querySelector('legend, label, span')?.textContent ?? '';
      const input = control.querySelector<HTMLInputElement>('input, textarea');
      const chosen = control.querySelector('input[type=radio]:checked')?.parentElement?.textContent;
      const ticked = input?.type === 'checkbox' ? (input.checked ? '✓' : '–') : undefined;
      return `${name}: ${control.querySelector('output')?.value ?? chosen ?? ticked ?? input?.value.replace(long, '…') ?? ''}`;
    });
  return [step, ...settings].filter(Boolean).join(' · ');
}

// What tells those who find the picture what it shows, and where.
function told(figure: Element, address: string): Node[] {
  const line = (text: string): HTMLElement => {
    const made = document.createElement('p');
    made.className = 'summary';
    made.style.overflowWrap = 'anywhere';
    made.append(text);
    return made;
  };
  const caption = figure.querySelector('figcaption')?.cloneNode(true) as HTMLElement | undefined;
  if (caption) caption.style.maxWidth = 'none';
  const settings = settingsOf(figure);
  return [...(caption ? [caption] : []), ...(settings ? [line(settings)] : []), line(address)];
}

// The picture, below what else is drawn, in the surroundings that its style rules speak of. The outermost is as wide as
// the page, because many rules ask how wide that is; in an image there is no body.
function surrounded(picture: HTMLElement, drawn: readonly Element[], address: string, width: number): HTMLElement {
  const page = document.createElement('div');
  page.style.cssText = `container: page / inline-size; width: ${document.body.clientWidth}px;`;
  const around = document.createElement('div');
  const figure = picture.closest('figure');
  const outer = document.createElement('figure');
  outer.className = figure?.className ?? '';
  // Also where figures rest, the copy has its full height.
  outer.style.cssText = 'max-width: none; margin: 0; padding: 0; content-visibility: visible;';
  if (drawn.length > 0) outer.append(row(drawn));
  outer.append(copyOf(picture), ...(figure ? told(figure, address) : []));
  const { color, fontFamily, fontSize, lineHeight } = getComputedStyle(picture);
  around.style.cssText = `display: flow-root; width: ${width}px; padding: ${margin}px; box-sizing: content-box;`;
  Object.assign(around.style, { color, fontFamily, fontSize, lineHeight });
  around.append(outer);
  page.append(around);
  return page;
}

// How large something is that is not on the page. What would scroll in it makes it wider, until all has room; where
// several are side by side, each gets only a part of that at a time.
function sizeOf(page: HTMLElement): DOMRect {
  const place = document.createElement('div');
  place.inert = true;
  place.style.cssText = 'position: absolute; top: 0; left: 0; width: 0; height: 0; overflow: hidden;';
  place.append(page);
  document.body.append(place);
  const around = page.firstElementChild as HTMLElement;
  const boxes = Array.from(page.querySelectorAll(scrollers));
  for (let times = 0; times < 5; ++times) {
    const missing = Math.max(0, ...boxes.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth));
    if (missing === 0) break;
    around.style.width = `${Number.parseFloat(around.style.width) + missing}px`;
  }
  const size = around.getBoundingClientRect();
  place.remove();
  return size;
}

// Characters that XML cannot hold, which a reader may type all the same; halves of others among them.
const noXml = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

// All of it as the text of an image.
function image(page: HTMLElement, width: number, height: number): string {
  const root = getComputedStyle(document.documentElement);
  const svg = new XMLSerializer().serializeToString(page);
  const { lang, dataset } = document.documentElement;
  const drawn = svg.replace(noXml, '\ufffd');
  const styles = styleSheets().replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" lang="${lang}" xml:lang="${lang}" data-theme="${dataset.theme}" style="font-size: ${root.fontSize}"><style>${styles}</style><foreignObject width="${width}" height="${height}">${drawn}</foreignObject></svg>`;
}

// Of a whole picture: where memory is dear, a larger canvas holds the reader up when it is made.
const mostPixels = 5e6;

/**
 * Twice as fine as the screen's own pixels, or as fine as `mostPixels` allow, on its background.
 *
 * @param drawn what the figure draws elsewhere, among its controls.
 * @param address shows the figure again.
 */
export async function pngOf(picture: HTMLElement, drawn: readonly Element[], address: string): Promise<Blob> {
  // A picture that is hidden by a table has no size; it is shown for a moment.
  const { hidden } = picture;
  picture.hidden = false;
  if (hidden) await pause(50);
  const width = Math.ceil(picture.getBoundingClientRect().width);
  const ground = getComputedStyle(picture.parentElement ?? picture).backgroundColor;
  const page = surrounded(picture, drawn, address, width);
  picture.hidden = hidden;
  // From here on the page may change, and step by step it is not held up for long.
  await pause();
  const size = sizeOf(page);
  await pause();
  const source = image(page, Math.ceil(size.width), Math.ceil(size.height));
  const shown = new Image();
  shown.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(source)}`;
  await shown.decode();
  await pause();
  const canvas = document.createElement('canvas');
  const scale = Math.min(2, Math.sqrt(mostPixels / (shown.width * shown.height)));
  canvas.width = Math.floor(shown.width * scale);
  canvas.height = Math.floor(shown.height * scale);
  const context = canvas.getContext('2d');
  if (context === null) throw new Error('no canvas');
  context.fillStyle = ground;
  const down = shown.height / canvas.height; // of the image, per pixel
  for (let top = 0; top < canvas.height; top += strip) {
    const high = Math.min(strip, canvas.height - top);
    context.fillRect(0, top, canvas.width, high);
    context.drawImage(shown, 0, down * top, shown.width, down * high, 0, top, canvas.width, high);
    await pause();
  }
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob === null ? reject(new Error('no PNG')) : resolve(blob)), 'image/png');
  });
}
