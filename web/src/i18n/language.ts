// The languages of the page, and numbers as they write them.
import type { ScorecardTexts } from './scorecard-en';
import type { FrameTexts } from './texts';

const sources = { en: () => import('./en'), zh: () => import('./zh') };
const scorecards = { en: () => import('./scorecard-en'), zh: () => import('./scorecard-zh') };

export type Language = keyof typeof sources;

export const languages = Object.keys(sources) as Language[];

/** Each language's name in itself. */
export const languageNames: Readonly<Record<Language, string>> = { en: 'English', zh: '中文' };

/** What documents call it: Chinese here is of simplified characters. */
export const languageTags: Readonly<Record<Language, string>> = { en: 'en', zh: 'zh-Hans' };

/** The texts around the chapters, in a language. */
export function frameTexts(language: Language): Promise<FrameTexts> {
  return sources[language]();
}

/** The texts of the scorecard, in a language. */
export async function scorecardTexts(language: Language): Promise<ScorecardTexts> {
  return (await scorecards[language]()).texts;
}

/** The reader's first language among ours, as the browser reports it ("C" among others); English if there is none. */
export function preferredLanguage(): Language {
  const wanted = navigator.languages.map((tag) => tag.split('-')[0]);
  return wanted.flatMap((tag) => languages.filter((language) => language === tag))[0] ?? 'en';
}

/** Numbers in the reader's language. */
export interface Numbers {
  /** A whole number, or any number as short as it is. */
  plain(value: number): string;
  /** With so many digits after the point. */
  fixed(value: number, digits: number): string;
  /** With so many digits that mean something. */
  significant(value: number, digits: number): string;
  /** So rounded that the value is not beyond it: for what is said to be the most. */
  bound(value: number, digits: number): string;
  /** Something measured: three digits that mean something, and all of a larger whole number. */
  measure(value: number): string;
  /** A power of ten: 10⁴. */
  power(value: number): string;
}

const superscripts: Readonly<Record<string, string>> = Object.fromEntries(
  Array.from('-0123456789', (c, i) => [c, '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'[i] ?? c]),
);

export function numbersOf(language: Language): Numbers {
  const made = new Map<string, Intl.NumberFormat>();
  const format = (value: number, options: Intl.NumberFormatOptions): string => {
    const key = JSON.stringify(options);
    let known = made.get(key);
    if (known === undefined) {
      // 'negative' writes no minus before a zero.
      known = new Intl.NumberFormat(language, { signDisplay: 'negative', ...options });
      made.set(key, known);
    }
    return known.format(value).replace('-', '−');
  };
  return {
    plain: (value) => format(value, {}),
    fixed: (value, digits) => format(value, { minimumFractionDigits: digits, maximumFractionDigits: digits }),
    significant: (value, digits) => format(value, { maximumSignificantDigits: digits }),
    bound: (value, digits) => format(value, { maximumSignificantDigits: digits, roundingMode: 'expand' }),
    measure: (value) => format(value, value < 1000 ? { maximumSignificantDigits: 3 } : { maximumFractionDigits: 0 }),
    power: (value) => `10${Array.from(String(Math.round(Math.log10(value))), (c) => superscripts[c] ?? c).join('')}`,
  };
}
