#include "tokenizer/chat_template.h"

#include <cstdio>
#include <ctime>

#include "tokenizer/template_interpreter.h"
#include "tokenizer/template_parser.h"

namespace sluice {

namespace {

// "YYYY-MM-DD HH:MM:SS", with T in place of the space, with a fraction, or the date alone.
Result<std::tm> parse_time(std::string_view text) {
  const std::string copy(text);
  std::tm time{};
  char separator = ' ';
  const int fields = std::sscanf(copy.c_str(), "%4d-%2d-%2d%c%2d:%2d:%2d", &time.tm_year, &time.tm_mon, &time.tm_mday,
                                 &separator, &time.tm_hour, &time.tm_min, &time.tm_sec);
  const Error error(ErrorCode::kInvalidArgument,
                    "chat template: expected a time as YYYY-MM-DD HH:MM:SS, found '" + copy + "'");
  if ((fields != 3 && fields != 7) || (separator != ' ' && separator != 'T')) return error;
  time.tm_year -= 1900;
  time.tm_mon -= 1;
  // timegm normalises what is out of range; whatever it changes was no date.
  std::tm checked = time;
  const std::time_t seconds = timegm(&checked);
  if (checked.tm_year != time.tm_year || checked.tm_mon != time.tm_mon || checked.tm_mday != time.tm_mday ||
      checked.tm_hour != time.tm_hour || checked.tm_min != time.tm_min || checked.tm_sec != time.tm_sec) {
    return error;
  }
  static_cast<void>(seconds);
  return checked;
}

class CompiledTemplate : public ChatTemplate {
 public:
  CompiledTemplate(std::unique_ptr<const jinja::Program> program, const TemplateLimits& limits)
      : program_(std::move(program)), limits_(limits) {}

  Result<std::string> render(const nlohmann::ordered_json& variables,
                             std::optional<std::string_view> now) const override {
    std::optional<std::tm> time;
    if (now) {
      SLUICE_ASSIGN(time, parse_time(*now));
    }
    return jinja::Interpreter(*program_, limits_).run(variables, time);
  }

 private:
  std::unique_ptr<const jinja::Program> program_;
  TemplateLimits limits_;
};

}  // namespace

Result<std::shared_ptr<const ChatTemplate>> ChatTemplate::compile(std::string_view source,
                                                                  const TemplateLimits& limits) {
  SLUICE_ASSIGN(std::unique_ptr<const jinja::Program> program, jinja::parse_template(source, limits));
  return std::shared_ptr<const ChatTemplate>(std::make_shared<CompiledTemplate>(std::move(program), limits));
}

}  // namespace sluice
