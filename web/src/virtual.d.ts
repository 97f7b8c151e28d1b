// The address of the worker's script; the worker plugin of vite.config.ts makes it.
declare module 'virtual:worker' {
  export const address: string;
}
