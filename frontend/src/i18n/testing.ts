/** Tests read the pages' texts in English, as they stand in the sources. */
import { i18n } from '@lingui/core';

i18n.loadAndActivate({ locale: 'en', messages: {} });
