// The addresses of the workers' scripts; the plugin `workers` of vite.config.ts makes them.
declare module 'virtual:worker' {
  export const address: string;
  export const playground: string;
}
// The text of what a file exports, by its name; the plugin `programs` of vite.config.ts makes it.
declare module '*.js?shown' {
  export const shown: Readonly<Record<string, string>>;
}
