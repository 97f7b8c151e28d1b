// The addresses of the workers' scripts; the plugin `workers` of vite.config.ts makes them.
declare module 'virtual:worker' {
  export const address: string;
  export const playground: string;
}
