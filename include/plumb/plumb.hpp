/* plumb.hpp: the C++ face of plumb.h. Spans end with their object; a scope left by an exception
 * counts as a failure and leaves no sample. C++11. */
#ifndef PLUMB_PLUMB_HPP
#define PLUMB_PLUMB_HPP

#include <exception>
#include <plumb/plumb.h>
#include <type_traits>
#include <utility>

namespace plumb
{

/* A span that lasts as long as the object. Not to be moved to another thread. */
class span
{
  public:
    explicit span(::plumb_point &point) : span_(plumb_begin(&point)), depth_(in_flight())
    {
    }
    explicit span(::plumb_node node) : span_(plumb_begin_node(node)), depth_(in_flight())
    {
    }
    /* `flags`: enum plumb_point_flags, as for plumb_begin_with(). */
    span(::plumb_node node, uint32_t flags)
        : span_(flags ? plumb_begin_with(node, flags) : plumb_begin_node(node)), depth_(in_flight())
    {
    }
    ~span()
    {
        if (in_flight() > depth_)
            plumb_span_fail(span_, "exception");
        plumb_end(span_);
    }
    span(const span &) = delete;
    span &operator=(const span &) = delete;

    ::plumb_span handle() const
    {
        return span_;
    }

    static int in_flight()
    {
#if defined(__cpp_lib_uncaught_exceptions) || __cplusplus >= 201703L
        return std::uncaught_exceptions();
#else
        return std::uncaught_exception() ? 1 : 0;
#endif
    }

  private:
    ::plumb_span span_;
    int depth_;
};

/* An async span, of a stage with PLUMB_POINT_STAGE: ends with the object, which may be moved to
 * another thread. One that an exception ends is a failure. */
class async
{
  public:
    explicit async(::plumb_node node, uint32_t flags = PLUMB_POINT_PLAIN)
        : span_(flags ? plumb_async_begin_with(node, flags) : plumb_async_begin(node)),
          depth_(span::in_flight())
    {
    }
    async(async &&other) noexcept : span_(other.release()), depth_(span::in_flight())
    {
    }
    async &operator=(async &&other) noexcept
    {
        if (this != &other) {
            end();
            span_ = other.release();
            depth_ = span::in_flight();
        }
        return *this;
    }
    async(const async &) = delete;
    async &operator=(const async &) = delete;
    ~async()
    {
        if (span::in_flight() > depth_)
            fail_with("exception");
        end();
    }

    void end()
    {
        plumb_async_end(release());
    }
    void fail_with(const char *why)
    {
        plumb_async_fail(release(), why);
    }
    void abandon()
    {
        plumb_async_abandon(release());
    }
    /* The handle, which the caller ends. */
    ::plumb_async release()
    {
        ::plumb_async mine = span_;
        span_.id = 0;
        return mine;
    }

  private:
    ::plumb_async span_;
    int depth_;
};

/* Calls f(args...) in a span of `node` and gives back what it returns. */
template <class F, class... A>
auto call(::plumb_node node, F &&f, A &&...args)
    -> decltype(std::forward<F>(f)(std::forward<A>(args)...))
{
    span s(node);
    return std::forward<F>(f)(std::forward<A>(args)...);
}

/* Calls f(args...) in a stage of `node`. */
template <class F, class... A>
auto call_stage(::plumb_node node, F &&f, A &&...args)
    -> decltype(std::forward<F>(f)(std::forward<A>(args)...))
{
    span s(node, PLUMB_POINT_STAGE);
    return std::forward<F>(f)(std::forward<A>(args)...);
}

/* wrap("decode", f) is a function object that runs f in a span called "decode"; with flags (enum
 * plumb_point_flags) as for plumb_begin_with(). */
template <class F> class wrapped
{
  public:
    wrapped(const char *name, F f, uint32_t flags = PLUMB_POINT_PLAIN)
        : node_(plumb_node_get(name)), flags_(flags), f_(std::move(f))
    {
    }
    template <class... A>
    auto operator()(A &&...args) -> decltype(std::declval<F &>()(std::forward<A>(args)...))
    {
        span s(node_, flags_);
        return f_(std::forward<A>(args)...);
    }

  private:
    ::plumb_node node_;
    uint32_t flags_;
    F f_;
};

template <class F>
wrapped<typename std::decay<F>::type> wrap(const char *name, F &&f,
                                           uint32_t flags = PLUMB_POINT_PLAIN)
{
    return wrapped<typename std::decay<F>::type>(name, std::forward<F>(f), flags);
}
/* As wrap(), with a stage instead of a span. */
template <class F> wrapped<typename std::decay<F>::type> wrap_stage(const char *name, F &&f)
{
    return wrap(name, std::forward<F>(f), PLUMB_POINT_STAGE);
}

} // namespace plumb

/* A span with a name of its own, in a C++ scope. */
#define PLUMB_CXX_SPAN(var, name) PLUMB_CXX_SCOPE_(var, name, PLUMB_POINT_PLAIN)
/* A stage; var.handle() is what plumb_stage_input() and its like take. */
#define PLUMB_CXX_STAGE(var, name) PLUMB_CXX_SCOPE_(var, name, PLUMB_POINT_STAGE)
/* Recorded only while debug is on. */
#define PLUMB_CXX_SPAN_DEBUG(var, name) PLUMB_CXX_SCOPE_(var, name, PLUMB_POINT_DEBUG)
#define PLUMB_CXX_STAGE_DEBUG(var, name)                                                           \
    PLUMB_CXX_SCOPE_(var, name, PLUMB_POINT_STAGE | PLUMB_POINT_DEBUG)
#define PLUMB_CXX_SCOPE_(var, name, flags)                                                         \
    static struct plumb_point PLUMB_CAT_(var, _point_) = PLUMB_POINT_INIT(name, flags);            \
    ::plumb::span var(PLUMB_CAT_(var, _point_))

#endif
