/** Sets up tests with the English texts of the sources. */
import { i18n } from '@lingui/core';
import { keepEscapes } from './escapes';

keepEscapes(i18n);
i18n.loadAndActivate({ locale: 'en', messages: {} });
