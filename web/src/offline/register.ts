// Asks the browser to keep the page for reading without a network. Where it will not, the page works as before.
export function keepForOffline(): void {
  // Without a network there is nothing new to keep.
  if (!import.meta.env.PROD || !('serviceWorker' in navigator) || !navigator.onLine) return;
  navigator.serviceWorker.register(new URL('./service-worker.js', document.baseURI)).catch(() => undefined);
}
