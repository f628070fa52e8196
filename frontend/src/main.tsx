import '@/app/styles-core';
import { speak } from '@/i18n';

const root = document.getElementById('root');
const failed = document.getElementById('failed');
if (root === null || failed === null) throw new Error('index.html lacks #root or #failed');

try {
  // The pages' modules hold texts, so the language is settled before the first of them is read.
  await speak();
  const { show } = await import('@/app/show');
  show(root);
} catch (error) {
  failed.hidden = false;
  for (const button of failed.querySelectorAll('button'))
    button.addEventListener('click', () => window.location.reload());
  throw error;
}
