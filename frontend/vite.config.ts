import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  plugins: [react()],
  resolve: { tsconfigPaths: true },
  build: {
    // default-src 'self' knows no data: addresses, and the polyfill would be dead weight
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  test: {
    include: ['src/**/*.test.ts', 'lab/src/**/*.test.ts'],
    environment: 'node',
    reporters: ['default'],
  },
});
