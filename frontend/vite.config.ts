import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  plugins: [react()],
  resolve: { tsconfigPaths: true },
  build: {
    // default-src 'self' knows no data: addresses, and the polyfill would be dead weight
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // read by build/finish.js
    manifest: true,
  },
  test: {
    include: ['src/**/*.test.ts', 'lab/src/**/*.test.ts', 'build/*.test.js'],
    environment: 'node',
    reporters: ['default'],
  },
});
