// `tools/test web` runs this file; further tests of pages are added here.
await import('./test_views.mjs');
await import('./test_commands.mjs');
await import('./test_safety.mjs');
await import('./test_fleet.mjs');
await import('./test_fleet_live.mjs');
if (process.env.CARDCAGE_UPDATE) {
  await import('./pictures.mjs');
  await import('./fleet_pictures.mjs');
}
