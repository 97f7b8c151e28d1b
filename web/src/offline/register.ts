/**
 * Asks the browser to keep the page for reading without a network. Rejects where it will not, as in a frame with a
 * sandbox, where even asking for service workers throws; the page works as before.
 */
export async function keepForOffline(): Promise<void> {
  // Without a network there is nothing new to keep.
  if (!import.meta.env.PROD || !('serviceWorker' in navigator) || !navigator.onLine) return;
  await navigator.serviceWorker.register(new URL('./service-worker.js', document.baseURI));
}
